"""Writes golden.json: the figures of independent libraries, which the tests do not need.

pip install scipy statsmodels pingouin krippendorff
python tests/stats/golden.py
"""

from __future__ import annotations

import json
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pingouin
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multitest import multipletests

RNG = np.random.default_rng(7)


def rounded(values: Any) -> Any:
    return np.round(values, 3).tolist()


def means() -> list[dict[str, Any]]:
    """One value a cluster: scipy's t-test. Clusters of equal size: statsmodels, whose correction
    is then that of CR2."""
    single = np.array(rounded(RNG.beta(1, 3, 17) * 10))
    test = stats.ttest_1samp(single, 0)
    ends = test.confidence_interval(0.95)
    clusters = np.repeat(np.arange(12), 4)
    grouped = rounded(RNG.normal(5, 1, 12)[clusters] + RNG.normal(0, 1, 48))
    fit = sm.OLS(grouped, np.ones(48)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    low, high = fit.conf_int(0.05)[0]
    return [
        {
            "library": "scipy.stats.ttest_1samp", "values": single.tolist(), "clusters": None,
            "mean": float(single.mean()), "low": ends.low, "high": ends.high,
            "p_value": test.pvalue,
        },
        {
            "library": "statsmodels OLS, cov_type='cluster'", "values": grouped,
            "clusters": clusters.tolist(), "mean": fit.params[0], "low": low, "high": high,
            "p_value": fit.pvalues[0],
        },
    ]  # fmt: skip


def holm() -> dict[str, Any]:
    p = rounded(RNG.beta(0.4, 2, 12))
    return {"p_values": p, "holm": multipletests(p, method="holm")[1].tolist()}


def correlations() -> list[dict[str, Any]]:
    found = []
    for n, digits in ((40, 3), (25, 0), (4, 2)):
        x = RNG.normal(0, 2, n)
        y = np.round(0.7 * x + RNG.normal(0, 1.5, n), digits).tolist()
        x = np.round(x, digits).tolist()  # without digits: many ties
        pearson = stats.pearsonr(x, y)
        found.append(
            {
                "x": x, "y": y, "pearson": pearson.statistic,
                "fisher": list(pearson.confidence_interval(0.95)),
                "spearman": stats.spearmanr(x, y).statistic,
                "kendall": stats.kendalltau(x, y).statistic,
            }
        )  # fmt: skip
    return found


def intraclass() -> list[dict[str, Any]]:
    found = []
    for n, k, noise in ((100, 8, 1.5), (6, 4, 1.0), (12, 2, 4.0)):
        table = RNG.normal(5, 2, (n, 1)) + RNG.normal(0, 0.7, k) + RNG.normal(0, noise, (n, k))
        table = np.clip(np.round(table), 0, 10)
        long = pd.DataFrame(table).reset_index().melt("index", var_name="rater", value_name="score")
        icc = pingouin.intraclass_corr(long, targets="index", raters="rater", ratings="score")
        rows = icc.set_index(icc["Type"].str.replace(r"\W", "", regex=True))
        ends = next(name for name in icc.columns if name.startswith("CI95"))
        # ICC2 and ICC2k in older versions, ICCA1 and ICCAk in newer ones.
        single, average = (
            rows.loc[next(name for name in names if name in rows.index)]
            for names in (("ICC2", "ICCA1"), ("ICC2k", "ICCAk"))
        )
        found.append(
            {
                "scores": table.astype(int).tolist(),
                **{
                    name: {"value": row["ICC"], "interval": list(map(float, row[ends]))}
                    for name, row in (("single", single), ("average", average))
                },
            }
        )
    return found


def alphas() -> list[dict[str, Any]]:
    found = []
    for low, high in ((0, 5), (0, 11)):
        table = RNG.integers(low, high, 30)[:, None] + RNG.integers(-1, 2, (30, 4))
        table = np.where(RNG.random(table.shape) < 0.3, np.nan, np.clip(table, 0, high - 1))
        found.append(
            {
                "units": [[int(v) for v in unit if not np.isnan(v)] for unit in table],
                **{
                    level: krippendorff.alpha(table.T, level_of_measurement=level)
                    for level in ("nominal", "ordinal", "interval")
                },
            }
        )
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    libraries = ("numpy", "scipy", "statsmodels", "pingouin", "krippendorff")
    golden = {
        "by": {"tests/stats/golden.py": {name: version(name) for name in libraries}},
        "means": means(),
        "holm": holm(),
        "correlations": correlations(),
        "intraclass": intraclass(),
        "alphas": alphas(),
    }
    path = Path(__file__).with_name("golden.json")
    lines = ",\n".join(f'"{name}": {json.dumps(value)}' for name, value in golden.items())
    path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
