"""Tenants, machines, rounds and settings. Answers are the interface's JSON, as dicts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence

from ._base import Base, given
from ._models import Moment, Seconds, moment, seconds

#: One document of the interface; docs/openapi.json describes its fields.
Document = Dict[str, Any]


class ClusterRoutes(Base):
    """What operators do, and what everybody may ask."""

    def info(self) -> Document:
        """Who you are, and the state of the daemon."""
        return dict(self._do("GET", "/info"))

    # Tenants, groups, workloads, tokens.

    def tenants(self) -> Iterator[Document]:
        """All tenants, by name."""
        return self._pages("/tenants", "tenants")

    def tenant(self, name: str) -> Document:
        """A tenant: its weight, share, GPUs and balance."""
        return dict(self._do("GET", "/tenants/{name}", {"name": name}))

    def tenant_why(self, name: str) -> Document:
        """Why a tenant has what it has."""
        return dict(self._do("GET", "/tenants/{name}/why", {"name": name}))

    def create_tenant(
        self,
        name: str,
        *,
        weight: Optional[float] = None,
        group: Optional[str] = None,
        limits: Optional[Mapping[str, int]] = None,
        guarantee: Optional[Mapping[str, int]] = None,
        limit: Optional[Mapping[str, int]] = None,
        user: Optional[str] = None,
    ) -> Document:
        """Creates a tenant; `limits` are `gpus` and `jobs` at most, `guarantee` and `limit` GPUs by gpu type."""
        body = given(
            name=name, weight=weight, group=group, limits=limits, guarantee=guarantee, limit=limit, user=user
        )
        return dict(self._do("POST", "/tenants", body=body))

    def change_tenant(self, name: str, **fields: Any) -> Document:
        """Changes a tenant: `weight`, `group`, `limits`, `guarantee`, `limit`, `order`, `suspended`, `user`.

        `None` removes group and user. `guarantee` and `limit` are GPUs by gpu type, all of them; `{}` removes them.
        """
        return dict(self._do("PATCH", "/tenants/{name}", {"name": name}, body=fields, is_repeatable=True))

    def delete_tenant(self, name: str) -> None:
        """Removes a tenant."""
        self._do("DELETE", "/tenants/{name}", {"name": name})

    def groups(self) -> Iterator[Document]:
        """All groups, by name."""
        return self._pages("/groups", "groups")

    def set_group(
        self,
        name: str,
        *,
        weight: Optional[float] = None,
        parent: Optional[str] = None,
        guarantee: Optional[Mapping[str, int]] = None,
        limit: Optional[Mapping[str, int]] = None,
    ) -> Document:
        """Creates or changes a group; `guarantee` and `limit` are GPUs by gpu type, for its tenants together."""
        body = given(weight=weight, parent=parent, guarantee=guarantee, limit=limit)
        return dict(self._do("PUT", "/groups/{name}", {"name": name}, body=body))

    def delete_group(self, name: str) -> None:
        """Removes a group that has no members."""
        self._do("DELETE", "/groups/{name}", {"name": name})

    def workloads(self, tenant: Optional[str] = None) -> Iterator[Document]:
        """All workloads with their profiles, by tenant and name."""
        return self._pages("/workloads", "workloads", {"tenant": tenant})

    def workload(self, tenant: str, name: str) -> Document:
        """A workload with its profiles."""
        return dict(self._do("GET", "/workloads/{tenant}/{name}", {"tenant": tenant, "name": name}))

    def set_workload(
        self,
        tenant: str,
        name: str,
        *,
        throughput: Optional[Mapping[str, float]] = None,
        weight: Optional[float] = None,
        gangs: Optional[Sequence[Mapping[str, Any]]] = None,
        provenance: Optional[str] = None,
    ) -> Document:
        """Creates or changes a workload; `throughput` is its profile by gpu type, in any unit."""
        body = given(throughput=throughput, weight=weight, gangs=gangs, provenance=provenance)
        return dict(self._do("PUT", "/workloads/{tenant}/{name}", {"tenant": tenant, "name": name}, body=body))

    def tokens(self) -> Iterator[Document]:
        """All tokens, without their secrets."""
        return self._pages("/tokens", "tokens")

    def create_token(
        self,
        role: str,
        *,
        tenant: Optional[str] = None,
        note: Optional[str] = None,
        expires_in_s: Optional[Seconds] = None,
    ) -> Document:
        """Creates a token; its `secret` is in this answer only."""
        expires = None if expires_in_s is None else seconds(expires_in_s)
        return dict(self._do("POST", "/tokens", body=given(role=role, tenant=tenant, note=note, expires_in_s=expires)))

    def revoke_token(self, id: int) -> None:
        """Makes a token void."""
        self._do("DELETE", "/tokens/{id}", {"id": id})

    # Notifications.

    def notifications(self) -> Iterator[Document]:
        """The notifications that you may see, with their last delivery."""
        return self._pages("/notifications", "notifications")

    def add_notification(
        self,
        *,
        url: Optional[str] = None,
        command: Optional[str] = None,
        on: Optional[Sequence[str]] = None,
        secret: Optional[str] = None,
        tenant: Optional[str] = None,
    ) -> Document:
        """Sends a request or runs a command when jobs change their state; the `secret` is in this answer only.

        `on` are states of jobs, by default those in which a job has ended. `command` is a name of the configuration.
        """
        states = None if on is None else [str(state) for state in on]
        body = given(url=url, command=command, on=states, secret=secret, tenant=tenant)
        return dict(self._do("POST", "/notifications", body=body))

    def test_notification(self, id: int) -> Document:
        """Sends a test notice now; the answer has what came of it."""
        return dict(self._do("POST", "/notifications/{id}/test", {"id": id}))

    def remove_notification(self, id: int) -> None:
        """Removes a notification; notices that wait are dropped."""
        self._do("DELETE", "/notifications/{id}", {"id": id})

    # Machines.

    def cluster(self) -> Document:
        """The machines and gpu types, and who is where."""
        return dict(self._do("GET", "/cluster"))

    def nodes(self) -> List[Document]:
        """The machines."""
        return list(self.cluster()["nodes"])

    def drain_node(
        self, name: str, *, reason: Optional[str] = None, let_finish: bool = False, until: Optional[Moment] = None
    ) -> Document:
        """Takes a node out. Its jobs go elsewhere; with `let_finish` they may end there first."""
        return self._patch_node(name, "down", reason=reason, let_finish=let_finish, until=moment(until))

    def node_up(self, name: str) -> Document:
        """Brings a node back."""
        return self._patch_node(name, "up")

    def reserve(
        self,
        nodes: Iterable[str],
        start: Moment,
        *,
        until: Optional[Moment] = None,
        reason: Optional[str] = None,
        let_finish: bool = False,
    ) -> List[Document]:
        """Plans ahead that nodes are out from `start` on. Without `until` they stay out until `node_up`."""
        window = {"from": moment(start), "until": moment(until), "reason": reason, "let_finish": let_finish}
        return [self._patch_node(name, "down", **window) for name in nodes]

    def reservations(self) -> List[Document]:
        """What is planned: windows with their `node`."""
        return [{"node": node["name"], **window} for node in self.nodes() for window in node.get("windows", [])]

    def drop_reservation(self, id: int) -> None:
        """Drops a planned window."""
        self._do("DELETE", "/cluster/windows/{id}", {"id": id})

    def _patch_node(self, name: str, health: str, **fields: Any) -> Document:
        return dict(self._do("PATCH", "/cluster/nodes/{name}", {"name": name}, body=given(health=health, **fields)))

    # Shares, rounds, certificates, usage.

    def round(self, number: Optional[int] = None) -> Document:
        """A round, by default the current one: shares, grants, placements, and the certificate as `audit`."""
        if number is None:
            return dict(self._do("GET", "/rounds/current"))
        return dict(self._do("GET", "/rounds/{round}", {"round": number}))

    def rounds(self) -> Iterator[Document]:
        """A line about each round that is remembered, the newest first."""
        return self._pages("/rounds", "rounds")

    def recent_rounds(self, *, after: Optional[int] = None, limit: Optional[int] = None) -> List[Document]:
        """The last rounds, the oldest first, and whether all that their mechanism promises held."""
        return list(self._do("GET", "/rounds/recent", query={"after": after, "limit": limit})["rounds"])

    def round_problem(self, number: int) -> Document:
        """The problem that the shares of a round answer, as `oef share` reads it."""
        return dict(self._do("GET", "/rounds/{round}/problem", {"round": number}))

    def fairness(self) -> Document:
        """Envy, sharing incentive, promised and delivered shares."""
        return dict(self._do("GET", "/fairness"))

    def envy(self, tenant: Optional[str] = None) -> Document:
        """How some tenants value each other's shares."""
        return dict(self._do("GET", "/fairness/envy", query={"tenant": tenant}))

    def fairness_series(
        self,
        tenant: Optional[str] = None,
        *,
        after: Optional[int] = None,
        rounds: Optional[int] = None,
        tenants: Optional[int] = None,
    ) -> Document:
        """Promised and delivered throughput, round by round."""
        query = {"tenant": tenant, "after": after, "rounds": rounds, "tenants": tenants}
        return dict(self._do("GET", "/fairness/series", query=query))

    def overview(self) -> Document:
        """The cluster at a glance: the round's clock, gpu types, and every tenant in a line."""
        return dict(self._do("GET", "/overview"))

    def timeline(
        self,
        *,
        from_ms: Optional[int] = None,
        to_ms: Optional[int] = None,
        changed_after_ms: Optional[int] = None,
        job: Optional[int] = None,
    ) -> Document:
        """Who ran where."""
        query = {"from_ms": from_ms, "to_ms": to_ms, "changed_after_ms": changed_after_ms, "job": job}
        return dict(self._do("GET", "/timeline", query=query))

    def usage(
        self, *, since: Optional[Moment] = None, until: Optional[Moment] = None, by: Optional[str] = None
    ) -> Document:
        """GPU-hours by `tenant`, `user`, `workload` or `type`. `since=timedelta(days=30)` is 30 days ago."""
        query = {"since": moment(since, is_past=True), "until": moment(until, is_past=True), "by": by}
        return dict(self._do("GET", "/usage", query=query))

    def what_if(self, changes: Sequence[Mapping[str, Any]]) -> Document:
        """Tries changes out on the live state; nothing is changed. `{"change": "weight", "tenant": "a", "weight": 2}`."""
        return dict(self._do("POST", "/whatif", body={"changes": list(changes)}, is_repeatable=True))

    def what_if_shares(self, **scenario: Any) -> Document:
        """Everybody's shares before and after changes of `weights`, `gpus`, `mechanism`, `added` and `removed`."""
        return dict(self._do("POST", "/whatif/shares", body=scenario, is_repeatable=True))

    def settings(self) -> Document:
        """The settings of the daemon."""
        return dict(self._do("GET", "/settings"))

    def change_settings(self, **fields: Any) -> Document:
        """Changes settings: `mechanism`, `round_s`, `reference`, `min_run_s`, `grace_s`, `usage_half_life_s` (0: off)..."""
        times = {name: seconds(each) if isinstance(each, timedelta) else each for name, each in fields.items()}
        return dict(self._do("PATCH", "/settings", body=times, is_repeatable=True))
