"""Fit the decision between required and optional: `groundup_infer/data/python_weights.json`.

    python -m benchmarks.inference_training --sample FOLDER [--write]

Uses the development split of the sample (`inference_samples.py python`) only. Logistic regression with an L2
penalty, minimised by scipy's L-BFGS; penalty and threshold are chosen by cross-validation over repositories, where
each distribution's prior comes from the other repositories alone.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from groundup.domain.digests import digest_bytes
from groundup.sources.files import read_tree
from groundup_infer.python_candidates import collect
from groundup_infer.python_inference import weights

DATA = Path(__file__).parent.parent / "src" / "groundup_infer" / "data"
FOLDS = 7
SEED = 7
PRIOR_STRENGTH = 2.0
PRIORS_KEPT = 3
NAMES = tuple(weights().values)
"""Of the features. A new one first gets a weight of 0 in the file."""
PRIOR_COLUMNS = [NAMES.index("prior"), NAMES.index("prior_weak")]
Array = NDArray[np.float64]


class Repository(NamedTuple):
    """One repository's candidates, the answers, and what no candidate covers."""

    name: str
    names: list[str]
    rows: Array
    answers: Array
    missing: int


def load(sample: Path) -> list[Repository]:
    """Read the development split."""
    index = json.loads((sample / "python.json").read_text(encoding="utf-8"))
    repositories = []
    for name, entry in index.items():
        if entry["split"] != "dev":
            continue
        found = collect(read_tree(sample / "python" / entry["tree"]), {})
        required, neutral = set(entry["required"]), set(entry["neutral"])
        kept = [candidate for candidate in found.candidates if candidate.name not in neutral]
        names = [candidate.name for candidate in kept]
        repositories.append(
            Repository(
                name,
                names,
                np.array([[one.features[name] for name in NAMES] for one in kept]).reshape(len(kept), len(NAMES)),
                np.array([float(name in required) for name in names]),
                len(required - set(names)),
            )
        )
    return repositories


def priors_of(repositories: Sequence[Repository]) -> dict[str, tuple[float, float]]:
    """Return per distribution how often it was required, and how often the package imported it."""
    counts: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    outside = NAMES.index("only_outside")
    for repository in repositories:
        for name, features, answer in zip(repository.names, repository.rows, repository.answers, strict=True):
            if not features[outside]:
                yes, total = counts[name]
                counts[name] = (yes + float(answer), total + 1)
    return counts


def log_odds(yes: float, total: float, base: float) -> float:
    """Return the smoothed log-odds of being required, relative to *base*."""
    share = (yes + PRIOR_STRENGTH * base) / (total + PRIOR_STRENGTH)
    return float(np.log(share / (1 - share)) - np.log(base / (1 - base)))


def with_priors(repository: Repository, counts: dict[str, tuple[float, float]], base: float, own: bool) -> Array:
    """Fill the prior columns; *own*: take the repository's own answer out first."""
    rows = repository.rows.copy()
    hard = (rows[:, NAMES.index("root_eager")] + rows[:, NAMES.index("entry_eager")]) > 0
    outside = rows[:, NAMES.index("only_outside")] > 0
    for position, name in enumerate(repository.names):
        yes, total = counts.get(name, (0.0, 0.0))
        if own and not outside[position]:
            yes, total = yes - repository.answers[position], total - 1
        value = log_odds(yes, total, base) if total > 0 else 0.0
        rows[position, PRIOR_COLUMNS[0]] = value
        rows[position, PRIOR_COLUMNS[1]] = 0.0 if hard[position] else value
    return rows


def fit(rows: Array, answers: Array, penalty: float) -> Array:
    """Return the weights that minimise the penalised logistic loss; the bias is not penalised."""
    weight = np.full(rows.shape[1], penalty)
    weight[0] = 0.0

    def loss(beta: Array) -> tuple[float, Array]:
        score = rows @ beta
        value = np.logaddexp(0.0, score).sum() - answers @ score + 0.5 * weight @ (beta * beta)
        gradient = rows.T @ (1 / (1 + np.exp(-score)) - answers) + weight * beta
        return float(value), gradient

    result = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B")
    return np.asarray(result.x, dtype=np.float64)


def train(repositories: Sequence[Repository], penalty: float) -> tuple[Array, dict[str, float]]:
    """Fit on *repositories*; return weights and priors."""
    counts = priors_of(repositories)
    base = sum(yes for yes, _ in counts.values()) / sum(total for _, total in counts.values())
    rows = np.vstack([with_priors(repository, counts, base, own=True) for repository in repositories])
    answers = np.concatenate([repository.answers for repository in repositories])
    kept = {name: log_odds(*count, base) for name, count in counts.items() if count[1] >= PRIORS_KEPT}
    return fit(rows, answers, penalty), kept


def apply(repository: Repository, weights: Array, priors: dict[str, float]) -> Array:
    """Return each candidate's probability."""
    rows = repository.rows.copy()
    values = np.array([priors.get(name, 0.0) for name in repository.names])
    hard = (rows[:, NAMES.index("root_eager")] + rows[:, NAMES.index("entry_eager")]) > 0
    rows[:, PRIOR_COLUMNS[0]] = values
    rows[:, PRIOR_COLUMNS[1]] = np.where(hard, 0.0, values)
    return np.asarray(1 / (1 + np.exp(-(rows @ weights))), dtype=np.float64)


def cross_validated(repositories: list[Repository], penalty: float) -> list[tuple[Repository, Array]]:
    """Return each repository with probabilities from weights that never saw it."""
    order = list(repositories)
    random.Random(SEED).shuffle(order)
    results = []
    for fold in range(FOLDS):
        held = order[fold::FOLDS]
        rest = [repository for position, repository in enumerate(order) if position % FOLDS != fold]
        weights, priors = train(rest, penalty)
        results += [(repository, apply(repository, weights, priors)) for repository in held]
    return results


def micro_f1(results: list[tuple[Repository, Array]], threshold: float) -> tuple[float, float, float]:
    """Return precision, recall and F1 over all repositories together."""
    hits = wrong = missed = 0.0
    for repository, probabilities in results:
        chosen = probabilities >= threshold
        hits += repository.answers[chosen].sum()
        wrong += (1 - repository.answers[chosen]).sum()
        missed += repository.answers[~chosen].sum() + repository.missing
    precision, recall = hits / (hits + wrong), hits / (hits + missed)
    return precision, recall, 2 * precision * recall / (precision + recall)


def main() -> None:
    """Choose penalty and threshold, fit on all of the development split, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--errors", action="store_true")
    options = parser.parse_args()
    repositories = load(options.sample)
    covered = sum(repository.answers.sum() for repository in repositories)
    missing = sum(repository.missing for repository in repositories)
    print(f"{len(repositories)} repositories, {covered:.0f} required among candidates, {missing} never imported")
    best = (0.0, 0.0, 0.0)
    for penalty in (0.3, 1.0, 2.0, 4.0, 8.0):
        results = cross_validated(repositories, penalty)
        for threshold in np.arange(0.3, 0.71, 0.05):
            precision, recall, f1 = micro_f1(results, float(threshold))
            if f1 > best[0]:
                best = (f1, penalty, float(threshold))
                print(f"penalty {penalty} threshold {threshold:.2f}: {precision:.3f} {recall:.3f} {f1:.3f}")
    weights, priors = train(repositories, best[1])
    if options.errors:
        for repository, probabilities in sorted(
            cross_validated(repositories, best[1]), key=lambda item: item[0].name
        ):
            for name, answer, chance, features in zip(
                repository.names, repository.answers, probabilities, repository.rows, strict=True
            ):
                if (chance >= best[2]) != bool(answer):
                    shown = {key: round(value, 2) for key, value in zip(NAMES, features, strict=True) if value}
                    print(repository.name, "MISSED" if answer else "WRONG", name, f"{chance:.2f}", shown)
    if options.write:
        document = {
            "provenance": {
                "script": "benchmarks/inference_training.py",
                "repositories": len(repositories),
                "candidates": int(sum(len(repository.names) for repository in repositories)),
                "sample": digest_bytes((Path(__file__).parent / "samples" / "python_fitted.json").read_bytes()),
                "penalty": best[1],
                "cross_validated_f1": round(best[0], 4),
            },
            "threshold": round(best[2], 3),
            "weights": {name: round(float(value), 4) for name, value in zip(NAMES, weights, strict=True)},
            "priors": {name: round(value, 3) for name, value in sorted(priors.items())},
        }
        (DATA / "python_weights.json").write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
