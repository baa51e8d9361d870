"""The four networks, in the sizes of the paper's workloads and in tiny ones for a CPU."""

from __future__ import annotations

import math
from typing import List

import torch
from torch import Tensor, nn

from batches import CHANNELS, CLASSES

#: VGG-16 for images of 32x32: channels of each convolution, and 0 for a pooling layer.
_VGG16 = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)
_VGG_SMALL = (8, 0, 16, 0, 32, 0)


def vgg(small: bool) -> nn.Module:
    """VGG with batch normalisation, and one linear layer at the end."""
    layers: List[nn.Module] = []
    channels = CHANNELS
    for width in _VGG_SMALL if small else _VGG16:
        if width == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        channels = width
    side = 4 if small else 1
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * side * side, CLASSES))


class Residual(nn.Module):
    """Two convolutions of 3x3, or with a bottleneck 1x1, 3x3 and 1x1, around which the input goes as well."""

    def __init__(self, inputs: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        outputs = 4 * width if bottleneck else width
        shapes = [(1, 1), (3, stride), (1, 1)] if bottleneck else [(3, stride), (3, 1)]
        widths = [inputs, *[width] * (len(shapes) - 1), outputs]
        layers: List[nn.Module] = []
        for index, (kernel, step) in enumerate(shapes):
            layers += [_convolution(widths[index], widths[index + 1], kernel, step), nn.ReLU(inplace=True)]
        self.body = nn.Sequential(*layers[:-1])
        same = inputs == outputs and stride == 1
        self.shortcut: nn.Module = nn.Identity() if same else _convolution(inputs, outputs, 1, stride)

    def forward(self, images: Tensor) -> Tensor:
        return torch.relu(self.body(images) + self.shortcut(images))


def resnet(small: bool, bottleneck: bool = False) -> nn.Module:
    """ResNet-18, or ResNet-50 with bottlenecks, as it is used for CIFAR: no pooling at the beginning."""
    blocks = (1, 1, 1) if small else ((3, 4, 6, 3) if bottleneck else (2, 2, 2, 2))
    width = 8 if small else 64
    layers: List[nn.Module] = [_convolution(CHANNELS, width, 3, 1), nn.ReLU(inplace=True)]
    channels = width
    for stage, count in enumerate(blocks):
        for index in range(count):
            stride = 2 if stage > 0 and index == 0 else 1
            layers.append(Residual(channels, width << stage, stride, bottleneck))
            channels = (width << stage) * (4 if bottleneck else 1)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES))


class Lstm(nn.Module):
    """A word language model: embedding, two layers of LSTM, and the embedding once more to name the next word."""

    def __init__(self, vocabulary: int, small: bool) -> None:
        super().__init__()
        width = 32 if small else 400
        self.embedding = nn.Embedding(vocabulary, width)
        self.drop = nn.Dropout(0.1)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        nn.init.normal_(self.embedding.weight, std=0.05)

    def forward(self, words: Tensor) -> Tensor:
        hidden, _ = self.lstm(self.drop(self.embedding(words)))
        return nn.functional.linear(self.drop(hidden), self.embedding.weight, self.bias)


class Transformer(nn.Module):
    """A word language model of attention layers that see only what came before."""

    def __init__(self, vocabulary: int, length: int, small: bool) -> None:
        super().__init__()
        width, heads, layers = (32, 2, 2) if small else (384, 6, 4)
        self.embedding = nn.Embedding(vocabulary, width)
        self.place = nn.Parameter(0.02 * torch.randn(length, width))
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.1, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length), persistent=False)
        nn.init.normal_(self.embedding.weight, std=0.05)

    def forward(self, words: Tensor) -> Tensor:
        width = self.embedding.embedding_dim
        hidden = math.sqrt(width) * self.embedding(words) + self.place
        hidden = self.layers(hidden, mask=self.mask, is_causal=True)
        return nn.functional.linear(hidden, self.embedding.weight)


def _convolution(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Module:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))
