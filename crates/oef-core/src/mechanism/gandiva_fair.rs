//! `gandiva-fair`: max-min, then trades of slow for fast GPUs at second prices.
//!
//! The rule, for one pair of gpu types (slow, fast), where a trader's *speedup* is its speedup on the
//! fast type over that on the slow one:
//!
//! 1. The trader with the greatest speedup that holds slow GPUs buys from the one with the least that
//!    holds fast GPUs; both must be able to use both types.
//! 2. It pays, per fast GPU, as many slow ones as the speedup of the next-fastest trader that still holds
//!    slow GPUs and is faster than the seller; where there is none, the midpoint of buyer and seller.
//!    The price never leaves the interval between the two, so neither is worse off by its own profile.
//! 3. It buys until its slow GPUs, the seller's fast ones, or the demand of whoever would end up with
//!    more GPUs than before allow no more; then again from 1.
//!
//! With more than two types the pair with the greatest gap between buyer and seller trades first, until
//! nothing is left to trade in it; then the pair that has the greatest gap now, and so on. Which type of
//! a pair is the fast one is decided by weight. Workloads that are alike trade as one (else the twin's
//! speedup would be the price, and nobody would gain); workloads of one tenant may trade with each other.

use super::max_min;
use super::outcome::Trade;
use crate::instance::{Instance, Member};

/// Values closer than this, relatively, are the same number.
const SAME: f64 = 1e-12;

/// Pairs of types taken up in turn, per pair that there is. Every trade raises the total, so they come
/// to an end by themselves, mostly after one or two turns each; the limit bounds the rest, whose amounts
/// shrink from turn to turn.
const MAX_TURNS_PER_PAIR: usize = 20;
/// Trades that are listed; the shares count all of them. Nobody reads further, and a million alike
/// tenants would make millions.
const MAX_LISTED_TRADES: usize = 100_000;
/// Gaps closer than this, relatively, are equal: they are differences of speedups, so they carry more
/// rounding than those.
const SAME_GAP: f64 = 1e-9;
/// Holdings below this part of what max-min gives by weight are rounding, not goods.
const DUST: f64 = 1e-12;

/// Computes what every row gets, and the trades that lead to it.
pub(crate) fn trade(instance: &Instance) -> (Vec<f64>, Vec<Trade>) {
    let mut floor = Floor::open(instance);
    floor.trade_all();
    floor.use_idle();
    (floor.held, floor.trades)
}

/// The trading floor: what everybody holds now. A trader is a row of the instance.
struct Floor<'a> {
    instance: &'a Instance,
    /// `held[trader * types + type]`
    held: Vec<f64>,
    /// GPUs of each trader, of all types.
    used: Vec<f64>,
    trades: Vec<Trade>,
    /// Who has traded in this turn.
    moved: Vec<usize>,
}

/// Two types, the fast one chosen by weight.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    slow: usize,
    fast: usize,
}

impl Pair {
    fn shares_a_type(self, other: Pair) -> bool {
        [self.slow, self.fast].iter().any(|j| [other.slow, other.fast].contains(j))
    }
}

/// The keenest buyer and the keenest seller of a pair, each with its speedup, if there is one.
#[derive(Clone, Copy, Debug, Default)]
struct Keenest {
    buyer: Option<(f64, usize)>,
    seller: Option<(f64, usize)>,
}

impl Keenest {
    /// The speedup of the buyer less that of the seller, if they could trade.
    fn gap(self) -> Option<f64> {
        let ((buyer, _), (seller, _)) = (self.buyer?, self.seller?);
        exceeds(buyer, seller).then_some(buyer - seller)
    }
}

/// What keeps a trade from being larger.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// The buyer has no slow GPUs left to pay with, or no room for more GPUs.
    Buyer,
    /// The seller has no fast GPUs left, or no room for what it would be paid.
    Seller,
}

impl<'a> Floor<'a> {
    fn open(instance: &'a Instance) -> Self {
        let held = max_min::divide(instance);
        let used = held.chunks_exact(instance.width().max(1)).map(|own| own.iter().sum()).collect();
        Floor { instance, held, used, trades: Vec::new(), moved: Vec::new() }
    }

    fn trade_all(&mut self) {
        let pairs = self.pairs();
        let everybody = || 0..self.instance.rows();
        let look = |&pair: &Pair| self.keenest(pair, Keenest::default(), everybody());
        let mut keenest: Vec<Keenest> = pairs.iter().map(look).collect();
        let mut is_open = vec![true; pairs.len()];
        for _ in 0..MAX_TURNS_PER_PAIR * pairs.len() {
            let open = || (0..pairs.len()).filter(|&i| is_open[i]);
            let widest = open().filter_map(|i| keenest[i].gap()).fold(0.0, f64::max);
            // The first of equal gaps, in the order of the types' names.
            let is_widest = |gap: f64| gap > 0.0 && gap >= widest * (1.0 - SAME_GAP);
            let Some(turn) = open().find(|&i| keenest[i].gap().is_some_and(is_widest)) else {
                return;
            };
            if self.trade_pair(pairs[turn], keenest[turn]) {
                for i in (0..pairs.len()).filter(|&i| pairs[i].shares_a_type(pairs[turn])) {
                    keenest[i] = self.look_again(pairs[i], keenest[i]);
                }
                // A trade may also have made room for what a demand kept from being traded elsewhere.
                is_open.fill(true);
            }
            is_open[turn] = false;
        }
    }

    /// Every two types that somebody can use, the one that is faster for more weight as the fast one.
    fn pairs(&self) -> Vec<Pair> {
        let k = self.instance.width();
        let mut pairs = Vec::new();
        for a in 0..k {
            for b in a + 1..k {
                let (mut for_a, mut for_b) = (0.0, 0.0);
                for (l, weight) in self.instance.weight.iter().enumerate() {
                    let (on_a, on_b) = (self.instance.profile(l)[a], self.instance.profile(l)[b]);
                    if on_a > 0.0 && exceeds(on_b, on_a) {
                        for_b += weight;
                    } else if on_b > 0.0 && exceeds(on_a, on_b) {
                        for_a += weight;
                    }
                }
                let pair = if exceeds(for_a, for_b) {
                    Pair { slow: b, fast: a }
                } else {
                    Pair { slow: a, fast: b }
                };
                pairs.push(pair);
            }
        }
        pairs
    }

    /// A trader's speedup in a pair; `None` if it cannot use both types.
    fn speedup(&self, trader: usize, pair: Pair) -> Option<f64> {
        let speedup = self.instance.profile(trader);
        let (slow, fast) = (speedup[pair.slow], speedup[pair.fast]);
        (slow > 0.0 && fast > 0.0).then(|| fast / slow)
    }

    fn holds(&self, trader: usize, gpu: usize) -> bool {
        let instance = self.instance;
        let part = instance.weight[trader] / instance.total_weight;
        self.held[trader * instance.width() + gpu] > DUST * part * instance.capacity[gpu]
    }

    /// The keenest buyer and seller among `known` and some traders.
    fn keenest(&self, pair: Pair, known: Keenest, traders: impl Iterator<Item = usize>) -> Keenest {
        let Keenest { mut buyer, mut seller } = known;
        for l in traders {
            let Some(speedup) = self.speedup(l, pair) else { continue };
            if buyer.is_none_or(|(most, _)| speedup > most) && self.holds(l, pair.slow) {
                buyer = Some((speedup, l));
            }
            if seller.is_none_or(|(least, _)| speedup < least) && self.holds(l, pair.fast) {
                seller = Some((speedup, l));
            }
        }
        Keenest { buyer, seller }
    }

    /// The same after a turn: those who have traded are looked at, and everybody only where one of the
    /// two no longer holds what it took.
    fn look_again(&self, pair: Pair, known: Keenest) -> Keenest {
        let holds = |one: Option<(f64, usize)>, gpu| one.is_none_or(|(_, l)| self.holds(l, gpu));
        if holds(known.buyer, pair.slow) && holds(known.seller, pair.fast) {
            self.keenest(pair, known, self.moved.iter().copied())
        } else {
            self.keenest(pair, Keenest::default(), 0..self.instance.rows())
        }
    }

    /// Everybody who may take part, with its speedup, the greatest first: holders of slow GPUs that are
    /// faster than the keenest seller, and holders of fast ones that are slower than the keenest buyer.
    /// Equal speedups are one number, whatever rounding made of them, and then the order is that of the
    /// profiles.
    fn queue(&self, pair: Pair, keenest: Keenest) -> Vec<(f64, usize)> {
        let (Some((most, _)), Some((least, _))) = (keenest.buyer, keenest.seller) else {
            return Vec::new();
        };
        let takes_part = |speedup: f64, l: usize| {
            (exceeds(speedup, least) && self.holds(l, pair.slow))
                || (exceeds(most, speedup) && self.holds(l, pair.fast))
        };
        let speedup = |l: usize| self.speedup(l, pair).filter(|&speedup| takes_part(speedup, l));
        let traders = 0..self.instance.rows();
        let mut queue: Vec<(f64, usize)> = traders.filter_map(|l| Some((speedup(l)?, l))).collect();
        queue.sort_by(|a, b| b.0.total_cmp(&a.0));
        for i in 1..queue.len() {
            if !exceeds(queue[i - 1].0, queue[i].0) {
                queue[i].0 = queue[i - 1].0;
            }
        }
        queue.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        queue
    }

    /// Trades one pair until nothing is left to trade in it; whether there was any trade.
    fn trade_pair(&mut self, pair: Pair, keenest: Keenest) -> bool {
        self.moved.clear();
        let queue = self.queue(pair, keenest);
        // Buyers come from the front and sellers from the back. A buyer never gets slow GPUs and a seller
        // never fast ones, so whoever has been passed stays passed.
        let (mut b, mut next, mut s) = (0, 1, queue.len().saturating_sub(1));
        let mut traded = false;
        while b < s {
            let ((buyer_speedup, buyer), (seller_speedup, seller)) = (queue[b], queue[s]);
            if !exceeds(buyer_speedup, seller_speedup) {
                break;
            }
            if !self.holds(buyer, pair.slow) {
                b += 1;
                continue;
            }
            if !self.holds(seller, pair.fast) {
                s -= 1;
                continue;
            }
            next = next.max(b + 1);
            while next < s && !self.holds(queue[next].1, pair.slow) {
                next += 1;
            }
            let price = match queue[next.min(s)].0 {
                speedup if exceeds(speedup, seller_speedup) => speedup,
                _ => (buyer_speedup + seller_speedup) / 2.0,
            };
            let (amount, limit) = self.amount(pair, buyer, seller, price);
            if amount > 0.0 {
                self.exchange(pair, buyer, seller, amount, price);
                traded = true;
            }
            match limit {
                Limit::Buyer => b += 1,
                Limit::Seller => s -= 1,
            }
        }
        traded
    }

    /// How many fast GPUs can change hands, and what keeps it from being more.
    fn amount(&self, pair: Pair, buyer: usize, seller: usize, price: f64) -> (f64, Limit) {
        let k = self.instance.width();
        let affordable = self.held[buyer * k + pair.slow] / price;
        let offered = self.held[seller * k + pair.fast];
        let (mut amount, mut limit) = if affordable <= offered {
            (affordable, Limit::Buyer)
        } else {
            (offered, Limit::Seller)
        };
        // Above a price of 1 the seller ends up with more GPUs than before, below it the buyer.
        let (gainer, gainer_limit) =
            if price > 1.0 { (seller, Limit::Seller) } else { (buyer, Limit::Buyer) };
        let demand = self.instance.demand[gainer];
        if demand.is_finite() {
            let room = (demand - self.used[gainer]).max(0.0);
            let room = if room <= SAME * demand { 0.0 } else { room / (price - 1.0).abs() };
            if room < amount {
                (amount, limit) = (room, gainer_limit);
            }
        }
        (amount, limit)
    }

    fn exchange(&mut self, pair: Pair, buyer: usize, seller: usize, amount: f64, price: f64) {
        let k = self.instance.width();
        self.moved.extend([buyer, seller]);
        let paid = amount * price;
        let buyer_slow = self.held[buyer * k + pair.slow];
        let seller_fast = self.held[seller * k + pair.fast];
        // Whoever has given all it had holds exactly nothing.
        let gave_all =
            |had: f64, gave: f64| if had - gave <= SAME * had { 0.0 } else { had - gave };
        self.held[buyer * k + pair.slow] = gave_all(buyer_slow, paid);
        self.held[seller * k + pair.fast] = gave_all(seller_fast, amount);
        self.held[buyer * k + pair.fast] += amount;
        self.held[seller * k + pair.slow] += paid;
        self.used[buyer] += amount - paid;
        self.used[seller] += paid - amount;
        self.list(pair, buyer, seller, amount, price);
    }

    /// Lists a trade between the members of two traders: each buys or sells by its part, and they are
    /// matched in turn.
    fn list(&mut self, pair: Pair, buyer: usize, seller: usize, amount: f64, price: f64) {
        let instance = self.instance;
        let (fast, slow) = (instance.types[pair.fast], instance.types[pair.slow]);
        let members = |trader: usize| {
            let part = move |m: &Member| (m.workload, m.weight / instance.weight[trader]);
            instance.members(trader).iter().map(part)
        };
        let (mut buyers, mut sellers) = (members(buyer), members(seller));
        let (mut buying, mut selling) = (buyers.next(), sellers.next());
        while let (Some((b, wants)), Some((s, offers))) = (buying, selling) {
            if self.trades.len() >= MAX_LISTED_TRADES {
                return;
            }
            let part = wants.min(offers);
            if part > SAME * wants.max(offers) {
                let amount = amount * part;
                self.trades.push(Trade { buyer: b, seller: s, fast, slow, amount, price });
            }
            buying = if wants <= offers { buyers.next() } else { Some((b, wants - part)) };
            selling = if offers <= wants { sellers.next() } else { Some((s, offers - part)) };
        }
    }

    /// Offers what is idle once more: a tenant that paid several slow GPUs for a fast one may have room
    /// again for GPUs that nobody else could use.
    fn use_idle(&mut self) {
        let k = self.instance.width();
        for j in 0..k {
            let held: f64 = self.held.iter().skip(j).step_by(k).sum();
            let instance = self.instance;
            let mut idle = instance.capacity[j] - held;
            if idle <= SAME * instance.capacity[j] {
                continue;
            }
            // Traders with room, those first whose room is small for their weight.
            let mut takers: Vec<(f64, usize)> = Vec::new();
            for l in (0..instance.rows()).filter(|&l| instance.profile(l)[j] > 0.0) {
                let room = instance.demand[l] - self.used[l];
                if room.is_finite() && room > SAME * instance.demand[l] {
                    takers.push((room, l));
                }
            }
            let weight = |l: usize| instance.weight[l];
            takers.sort_by(|a, b| {
                (a.0 / weight(a.1)).total_cmp(&(b.0 / weight(b.1))).then(a.1.cmp(&b.1))
            });
            let mut weight_left: f64 = takers.iter().map(|t| weight(t.1)).sum();
            for (room, l) in takers {
                let take = room.min(idle * (weight(l) / weight_left).min(1.0));
                (idle, weight_left) = ((idle - take).max(0.0), weight_left - weight(l));
                self.used[l] += take;
                self.held[l * k + j] += take;
            }
        }
    }
}

/// Whether `a` is greater than `b` by more than rounding.
fn exceeds(a: f64, b: f64) -> bool {
    a - b > SAME * b
}

#[cfg(test)]
mod tests;
