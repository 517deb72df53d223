"""Many trainings on a Ray cluster: a lot is a task, and this process alone writes the run folder.

Workers share no disk with us. Their news and checkpoints come by an actor on this machine, their
records and networks as the result of the task. A lot whose worker or node dies is sent out again,
with the last checkpoint that came back. While a lot is out, its lease is ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from wug.core.errors import UserError, WorkError
from wug.core.uninterrupted import uninterrupted
from wug.records import Claim, RunStore, write_atomic
from wug.records.segments import decode_segment
from wug.training.crew import watch
from wug.training.lots import Trainings, missing, versions
from wug.training.mailbox import Mailbox
from wug.training.others import Others
from wug.training.plan import Lot
from wug.training.ray_cluster import Cluster, connect, load_ray
from wug.training.remote import MOST_CHECKPOINT_BYTES, Errand, Parcel
from wug.training.work import (
    MODELS,
    WorkOptions,
    forget,
    is_finished,
    longest_first,
    require_needs,
    unfinished,
    worth_compiling,
)

if TYPE_CHECKING:
    from rich.console import Console

# How often a lot is sent out, if its workers die.
TRIES = 5
# Lots that wait in the cluster beyond those that run: enough for short ones between two looks.
QUEUED = 100
# How often other processes of the cluster are asked for its size and for letters.
ASK_SECONDS = 1.0
LETTER_SECONDS = 10.0
# What is cancelled may clear up for so long.
GENTLE_SECONDS = 5.0


def errand_on_worker(errand: Errand, mailbox: Any) -> Parcel:
    """Train a lot on a worker; letters go to the driver's mailbox."""
    from wug.training.remote import run_errand

    def send(kind: str, content: Any) -> None:
        mailbox.put.remote(errand.lot, kind, content)

    return run_errand(errand, send)


@dataclass
class Out:
    """A lot that is out: whose lease we hold, and how often it was tried."""

    lot: Lot
    claim: Claim
    lease: ExitStack
    tries: int = 1


class RayCrew:
    """Hands lots to a cluster and brings them home.

    Args:
        ray: The module, connected.
        cluster: How lots are run there.
        target: ``module:function`` that makes the experiment, for the workers.
        options: Its argument.
        experiment: What it makes.
        store: The run folder.
        how: How each worker works.
        say: Called with a sentence for people.
    """

    def __init__(
        self,
        ray: Any,
        cluster: Cluster,
        target: str,
        options: Any,
        experiment: Trainings,
        store: RunStore,
        how: WorkOptions,
        say: Callable[[str], None],
    ) -> None:
        self.ray, self.cluster, self.store, self.say = ray, cluster, store, say
        self.lots = {lot.name: lot for lot in experiment.lots}
        require_needs(self.lots)
        self.finished = store.finished()
        self.waiting = longest_first(experiment.lots)
        self.others = Others(store)
        self.out: dict[Any, Out] = {}
        long = any(map(worth_compiling, experiment.lots))
        compile = how.compile if long or how.compile == "on" else "off"
        self.errand = partial(
            Errand, target=target, options=options, versions=versions(),
            how=replace(how, threads=cluster.cores_per_lot, compile=compile),
            checkpoint_seconds=cluster.checkpoint_seconds,
        )  # fmt: skip
        here = ray.get_runtime_context().get_node_id()
        affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        # Beside us: a node of workers that dies must not take it along. Soft wishes are not heeded.
        self.mailbox = ray.remote(
            num_cpus=0, max_restarts=-1, scheduling_strategy=affinity(here, soft=False)
        )(Mailbox).remote()
        # A worker that dies is our affair: what it has sent home must not be done again.
        self.task = ray.remote(
            num_cpus=cluster.cores_per_lot, num_gpus=cluster.gpus_per_lot, max_retries=0
        )(errand_on_worker)
        self.looked = self.slots = 0.0
        self.visited = float("-inf")
        self.asked: Any = None

    def step(self) -> bool:
        """Do what can be done now; return whether anything is left to wait for.

        Raises:
            WorkError: A lot failed, or its workers died again and again.
        """
        if time.monotonic() - self.visited >= ASK_SECONDS:
            self.visited = time.monotonic()
            self.slots = self.ray.cluster_resources().get("CPU", 1.0) / self.cluster.cores_per_lot
            self.read_letters()
        while self.bring_home():
            self.send_out()
        self.send_out()
        return bool(self.out or self.waiting)

    def bring_home(self) -> bool:
        """Write down what all tasks that have ended brought; return whether there were any."""
        if not self.out:
            return False
        done, _ = self.ray.wait(list(self.out), num_returns=len(self.out), timeout=0)
        for ref in done:
            self.come_home(ref)
        return bool(done)

    def read_letters(self) -> None:
        """Write down the news and the checkpoints that have arrived."""
        out = {each.lot.name: each for each in self.out.values()}
        self.asked = self.asked or self.mailbox.fetch.remote()
        try:
            letters = self.ray.get(self.asked, timeout=LETTER_SECONDS)
        except self.ray.exceptions.GetTimeoutError:
            return  # the answer holds letters, so the next look is for this one
        except self.ray.exceptions.RayActorError:
            self.asked = None
            return  # it is started anew; what lay in it was news
        self.asked = None
        for lot, kind, content in letters:
            if lot not in out:
                continue
            if kind == "news":
                self.report(lot, content)
            elif not out[lot].claim.lost:
                write_atomic(self.store.checkpoint_path(lot), content)

    def report(self, lot: str, news: list[dict[str, Any]]) -> None:
        """Write news into the run folder, from where the bars and the live page read them."""
        for line in news:
            self.store.report_progress(lot, **line)

    def send_out(self) -> None:
        """Send lots out until enough of them wait in the cluster."""
        tried = False
        for lot in list(self.waiting):
            if len(self.out) >= 2 * self.slots + QUEUED:
                return
            if is_finished(lot, self.finished):
                self.waiting.remove(lot)
            elif self.others.too_soon(lot.name):
                continue
            elif all(is_finished(self.lots[name], self.finished) for name in lot.needs):
                tried = self.claim(lot) or tried
        if self.waiting and not self.out and not tried and time.monotonic() - self.looked > 1.0:
            # All that is left is in the hands of others.
            self.looked = time.monotonic()
            self.finished = self.store.finished()
            self.waiting = [lot for lot in self.waiting if not self.others.alive(lot.name)]

    def claim(self, lot: Lot) -> bool:
        """Take a lot's lease and send it out, unless another process has it."""
        with ExitStack() as stack:
            claim = stack.enter_context(self.store.claim(lot.name))
            if claim is None:
                self.others.refused(lot.name)
                return False
            if self.store.began(lot.name):
                self.finished = self.store.finished()
            self.waiting.remove(lot)
            if not is_finished(lot, self.finished):
                self.submit(Out(lot=lot, claim=claim, lease=stack.pop_all()))
        return True

    def submit(self, out: Out) -> None:
        """Give a lot to the cluster, with its checkpoint and the networks that it needs."""
        lot, checkpoint = out.lot, b""
        with suppress(FileNotFoundError):
            path = self.store.checkpoint_path(lot.name)
            if path.stat().st_size <= MOST_CHECKPOINT_BYTES:
                checkpoint = path.read_bytes()
        models = self.store.folder / MODELS
        wanted = {i for block in missing(lot, set()) for i in identities(block)}
        errand = self.errand(
            lot=lot.name, checkpoint=checkpoint, finished=frozenset(wanted & self.finished),
            networks={name: (models / f"{name}.safetensors").read_bytes() for name in lot.needs},
        )  # fmt: skip
        self.out[self.task.remote(errand, self.mailbox)] = out

    def come_home(self, ref: Any) -> None:
        """Write down what a task brought; send its lot out again if its worker died.

        Raises:
            WorkError: The lot failed, or its workers died again and again.
        """
        # An interrupt while we wait for the parcel leaves it among those that are out.
        out, errors = self.out[ref], self.ray.exceptions
        name = out.lot.name
        try:
            parcel: Parcel = self.ray.get(ref)
        except errors.RayTaskError as error:
            del self.out[ref]
            out.lease.close()
            raise WorkError(cause_of(error)) from None
        except errors.RayError as error:
            del self.out[ref]
            if out.tries >= TRIES:
                out.lease.close()
                reason = str(error).strip().split("\n", 1)[0]
                raise WorkError(
                    f"the workers of lot {name} died {TRIES} times; the last time: {reason}"
                ) from None
            self.read_letters()
            self.say(f"The worker of {name} died; it is sent out again.")
            self.submit(replace(out, tries=out.tries + 1))
            return
        with uninterrupted(), out.lease:  # else what has come home could be lost, or come twice
            del self.out[ref]
            self.report(name, parcel.news)
            for stem, data in parcel.networks.items():
                write_atomic(self.store.folder / MODELS / f"{stem}.safetensors", data)
            found = decode_segment(parcel.records, self.store.folder)
            if not out.claim.lost:
                self.store.append(name, found.records)
                forget(self.store.checkpoint_path(name))
                self.finished |= {record.identity for record in found.records}
            else:
                self.waiting.append(out.lot)

    def recall(self) -> None:
        """Bring home what has ended, cancel the rest, first gently, and give the leases back."""
        with suppress(Exception):
            self.bring_home()
        with suppress(Exception):  # a cluster that is gone has cancelled them
            left = list(self.out)
            for force in (False, True):
                for ref in reversed(left):  # those that wait first, so that none begins now
                    self.ray.cancel(ref, force=force)
                if not force and left:
                    _, left = self.ray.wait(left, num_returns=len(left), timeout=GENTLE_SECONDS)
        for out in self.out.values():
            out.lease.close()
        self.out.clear()


def identities(lot: Lot) -> list[str]:
    """Return the identities of a lot's records."""
    from wug.records import identity

    return [identity({**v.labels, "seed": seed}) for v in lot.variants for seed in lot.seeds]


def cause_of(error: Any) -> str:
    """Return one sentence for what went wrong in a task."""
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, UserError):
        return str(cause)
    return f"{type(cause).__name__}: {str(cause).strip().split(chr(10), 1)[0]}"


def run_on_ray(
    target: str,
    options: Any,
    experiment: Trainings,
    store: RunStore,
    how: WorkOptions,
    cluster: Cluster,
    console: Console,
) -> int:
    """Train everything that is missing on a cluster; return how many trainings others work on.

    Args:
        target: ``module:function`` that makes the experiment, for the workers.
        options: Its argument.
        experiment: What it makes.
        store: The run folder, which only this process writes.
        how: How each worker works.
        cluster: Where.
        console: Where progress is shown.

    Raises:
        UserError: Ray is not installed, or there is no cluster.
        WorkError: A lot failed; what was written before is intact.
    """
    ray = load_ray(cluster.address)
    with console.status("connecting to Ray"):
        connect(ray, cluster)
    try:
        has = ray.cluster_resources()
        nodes = sum(node["Alive"] for node in ray.nodes())
        console.print(
            f"Ray: {nodes} nodes, {has.get('CPU', 0):.0f} cores, {has.get('GPU', 0):.0f} GPUs; a "
            f"lot takes {cluster.cores_per_lot} cores and {cluster.gpus_per_lot:g} GPUs"
        )
        crew = RayCrew(
            ray, cluster, target, options, experiment, store, how,
            lambda sentence: console.print(sentence, style="yellow", markup=False),
        )  # fmt: skip
        try:
            watch(crew.step, experiment, store, console)
        finally:
            crew.recall()
    finally:
        ray.shutdown()
    return unfinished(experiment, store)
