"""Every method of the statistics in plain words, and the papers behind them."""

from __future__ import annotations

from collections.abc import Mapping

PAPERS: Mapping[str, str] = {
    "Wilson 1927": "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. "
    "Journal of the American Statistical Association 22, 209-212.",
    "Kish 1965": "Kish, L. (1965). Survey Sampling. New York: Wiley.",
    "Miller 2024": "Miller, E. (2024). Adding Error Bars to Evals: A Statistical Approach to Language Model "
    "Evaluations. arXiv 2411.00640.",
    "Student 1908": "Student (1908). The probable error of a mean. Biometrika 6, 1-25.",
    "Efron and Tibshirani 1993": "Efron, B., Tibshirani, R. J. (1993). An Introduction to the Bootstrap. "
    "New York: Chapman and Hall.",
    "Fisher 1915": "Fisher, R. A. (1915). Frequency distribution of the values of the correlation coefficient in "
    "samples from an indefinitely large population. Biometrika 10, 507-521.",
    "Bonett and Wright 2000": "Bonett, D. G., Wright, T. A. (2000). Sample size requirements for estimating Pearson, "
    "Kendall and Spearman correlations. Psychometrika 65, 23-28.",
    "Bell and McCaffrey 2002": "Bell, R. M., McCaffrey, D. F. (2002). Bias reduction in standard errors for linear "
    "regression with multi-stage samples. Survey Methodology 28, 169-181.",
    "Donner 1986": "Donner, A. (1986). A review of inference procedures for the intraclass correlation coefficient in "
    "the one-way random effects model. International Statistical Review 54, 67-82.",
    "Zou and Donner 2008": "Zou, G. Y., Donner, A. (2008). Construction of confidence limits about effect measures: "
    "a general approach. Statistics in Medicine 27, 1693-1702.",
    "Korn and Graubard 1998": "Korn, E. L., Graubard, B. I. (1998). Confidence intervals for proportions with small "
    "expected number of positive counts estimated from survey data. Survey Methodology 24, 193-201.",
    "Gorodkin 2004": "Gorodkin, J. (2004). Comparing two K-category assignments by a K-category correlation "
    "coefficient. Computational Biology and Chemistry 28, 367-374.",
    "Chen et al. 2021": "Chen, M., Tworek, J., Jun, H., Yuan, Q. et al. (2021). Evaluating Large Language Models "
    "Trained on Code. arXiv 2107.03374.",
    "Yao et al. 2024": "Yao, S., Shinn, N., Razavi, P., Narasimhan, K. (2024). tau-bench: A Benchmark for "
    "Tool-Agent-User Interaction in Real-World Domains. arXiv 2406.12045.",
    "McNemar 1947": "McNemar, Q. (1947). Note on the sampling error of the difference between correlated "
    "proportions or percentages. Psychometrika 12, 153-157.",
    "Tango 1998": "Tango, T. (1998). Equivalence test and confidence interval for the difference in proportions "
    "for the paired-sample design. Statistics in Medicine 17, 891-908.",
    "Bonett and Price 2012": "Bonett, D. G., Price, R. M. (2012). Adjusted Wald confidence interval for a difference "
    "of binomial proportions based on paired data. Journal of Educational and Behavioral Statistics 37, 479-488.",
    "Connor 1987": "Connor, R. J. (1987). Sample size for testing differences in proportions for the paired-sample "
    "design. Biometrics 43, 207-211.",
    "Phipson and Smyth 2010": "Phipson, B., Smyth, G. K. (2010). Permutation p-values should never be zero. "
    "Statistical Applications in Genetics and Molecular Biology 9, article 39.",
    "Besag and Clifford 1991": "Besag, J., Clifford, P. (1991). Sequential Monte Carlo p-values. Biometrika 78, "
    "301-304.",
    "Noreen 1989": "Noreen, E. W. (1989). Computer-Intensive Methods for Testing Hypotheses: An Introduction. "
    "New York: Wiley.",
    "Yeh 2000": "Yeh, A. (2000). More accurate tests for the statistical significance of result differences. "
    "Proceedings of the 18th International Conference on Computational Linguistics (COLING), 947-953.",
    "Benjamini and Hochberg 1995": "Benjamini, Y., Hochberg, Y. (1995). Controlling the false discovery rate: a "
    "practical and powerful approach to multiple testing. Journal of the Royal Statistical Society B 57, 289-300.",
    "Angelopoulos, Duchi and Zrnic 2023": "Angelopoulos, A. N., Duchi, J. C., Zrnic, T. (2023). PPI++: Efficient "
    "Prediction-Powered Inference. arXiv 2311.01453.",
    "Cohen 1960": "Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological "
    "Measurement 20, 37-46.",
    "Lan and DeMets 1983": "Lan, K. K. G., DeMets, D. L. (1983). Discrete sequential boundaries for clinical trials. "
    "Biometrika 70, 659-663.",
    "Kim and DeMets 1987": "Kim, K., DeMets, D. L. (1987). Design and analysis of group sequential tests based on the "
    "type I error spending rate function. Biometrika 74, 149-154.",
    "Jennison and Turnbull 1989": "Jennison, C., Turnbull, B. W. (1989). Interim analyses: the repeated confidence "
    "interval approach. Journal of the Royal Statistical Society B 51, 305-361.",
    "Hemerik and Goeman 2018": "Hemerik, J., Goeman, J. (2018). Exact testing with random permutations. "
    "TEST 27, 811-825.",
    "Lan, Simon and Halperin 1982": "Lan, K. K. G., Simon, R., Halperin, M. (1982). Stochastically curtailed tests in "
    "long-term clinical trials. Sequential Analysis 1, 207-219.",
    "Holm 1979": "Holm, S. (1979). A simple sequentially rejective multiple test procedure. "
    "Scandinavian Journal of Statistics 6, 65-70.",
}

# Of judges whose grades are corrected by labels.
CORRECTION = (
    "Corrected scores are those of a judge less the error that people's labels of a random part of the same replies "
    "show in it: prediction-powered inference, the weight of the judge's word chosen for the narrowest interval "
    "(Angelopoulos, Duchi and Zrnic 2023). A judge's own interval knows nothing of its errors. Agreement beyond chance "
    "is kappa (Cohen 1960). Labels of replies that were chosen for another reason, or given after the judge's grade "
    "was seen, are counted in the agreement alone."
)

WILSON = "Wilson"
WEIGHTED = "Wilson on the effective n or the tasks' own combined, tasks weighted by their full sizes"
MACRO = "Wilson on the effective n or the tasks' own combined, tasks weighted alike"
EFFECTIVE = "Wilson on the effective n"
EFFECTIVE_CLUSTERS = "Wilson on the effective n of the clusters"
EFFECTIVE_TASKS = "Wilson on the effective n of the tasks"
BOUNDED_TASKS = "Student's t over tasks or Wilson on the effective n of the tasks, the wider of both"
DIRICHLET = "Dirichlet(counts + 1/2) on the table of answers, 2,000 draws, seed 0"
DIRICHLET_MANY = "Dirichlet(counts + one item in all) on the table of answers, 2,000 draws, seed 0"
BOOTSTRAP = "bootstrap of items, 2,000 draws, seed 0"
CLUSTERED = "bootstrap of clusters, 2,000 draws, seed 0"
UNRELATED = "Fisher's z of unrelated pairs, 2,000 draws, seed 0"
COMBINED = "draws of each task combined, 2,000 draws, seed 0"
APART = "the tasks' own intervals, their ends averaged"
TANGO = "Tango's paired score interval"
PAIRED_T = "Student's t of the paired differences"
PAIRED_T_WEIGHTED = "Student's t of the weighted paired differences"
PAIRED_T_CLUSTERS = "Student's t of the clusters' paired differences, one item added each way"
RESAMPLED_NUMBERS = "paired bootstrap of items, widened as Fisher's z is, 2,000 draws, seed 0"
RESAMPLED = "paired bootstrap of items, 2,000 draws, seed 0"
RESAMPLED_CLUSTERS = "paired bootstrap of clusters, 2,000 draws, seed 0"
STRATIFIED = "paired draws of each task combined, 2,000 draws, seed 0"

# Parts of several of the texts below.
BETWEEN = (
    "Its variance is the larger of two: the one that the clusters show, a large cluster counting for what it hides by "
    "pulling the mean to itself (Miller 2024; Bell and McCaffrey 2002), and the one that they had if all clusters hung "
    "together alike (Donner 1986)."
)
WIDER = (
    "its interval is the 95 % score interval of a proportion (Wilson 1927) on the effective number of items under "
    "these weights (Kish 1965), or where that is wider the tasks' own intervals combined (Zou and Donner 2008), so far "
    "as their items weigh more than those of others."
)
TWO = (
    "one in favour of each model by the whole range of the scores (1 for shares and F1; for another tool's scores the "
    "range that both runs show), so that two runs that never disagree are not taken for certain to be equal (Bonett "
    "and Price 2012)."
)

# Estimate.method -> what was done; a test compares the keys with the methods of the statistics.
INTERVALS: Mapping[str, str] = {
    "bootstrap of items or Fisher's z, the wider of both, 2,000 draws, seed 0": (
        "The interval of a correlation is the wider, at each end, of a percentile bootstrap of the items, 2,000 draws, "
        "seed 0 (Efron and Tibshirani 1993), and of Fisher's transformation (Fisher 1915; for ranks with the standard "
        "error of Bonett and Wright 2000), since the bootstrap alone is too narrow for few items."
    ),
    "Student's t or Wilson between the least and the greatest score, the wider of both": (
        "The interval of a mean of graded scores on a scale that nobody told is the wider, at each end, of Student's "
        "(Student 1908), items taken as independent, and of the score interval of a proportion (Wilson 1927) laid "
        "between the least and the greatest score, on as many items as have that mean and that standard error."
    ),
    "Student's t or Wilson on the effective n, the wider of both": (
        "The interval of a mean of graded scores between 0 and 1 is the wider, at each end, of Student's (Student "
        "1908), items taken as independent, and of the score interval of a proportion (Wilson 1927) on as many "
        "items as have that mean and that standard error, since scores that crowd near an end are skewed."
    ),
    "Student's t over clusters or Wilson on the effective n of the clusters, the wider of both": (
        "Where items hang together, the interval of a mean of graded scores between 0 and 1 is the wider, at each end, "
        "of Student's (Student 1908) and of the score interval of a share (Wilson 1927) on the number of independent "
        f"items that the mean is worth. {BETWEEN}"
    ),
    "Student's t over clusters or Wilson between the least and the greatest score, the wider of both": (
        "Where items hang together, the interval of a mean of graded scores on a scale that nobody told is the wider, "
        "at each end, of Student's (Student 1908) and of the score interval of a share (Wilson 1927) laid between the "
        f"least and the greatest score. {BETWEEN}"
    ),
    WILSON: (
        "The interval of a share of right answers is the 95 % score interval of a proportion (Wilson 1927)."
    ),
    WEIGHTED: (f"An accuracy over several tasks weights each task by the size of its whole set; {WIDER}"),
    MACRO: (f"A mean of shares over several tasks weights all tasks alike; {WIDER}"),
    EFFECTIVE: (
        "Where items were asked several times, or are averaged by halves, the interval of a share is the 95 % score "
        "interval (Wilson 1927) on the number of independent items that the share is worth: the items divided by the "
        "design effect (Kish 1965)."
    ),
    EFFECTIVE_TASKS: (
        "The interval of a success rate is the 95 % score interval (Wilson 1927) on the number of independent trials "
        "that the trials are worth: their number, divided by the design effect (Kish 1965) of rollouts of one task "
        "being alike. So much as Student's t is wider than the normal with as many degrees of freedom as there are "
        "tasks, less one, so much fewer they are worth (Korn and Graubard 1998), but no fewer than there are tasks."
    ),
    BOUNDED_TASKS: (
        "The interval of a mean score is the wider, at each end, of Student's over tasks (Student 1908) and of the "
        "score interval of a share (Wilson 1927) on as many independent trials as the trials are worth."
    ),
    EFFECTIVE_CLUSTERS: (
        "Where items hang together, the interval of a share is the 95 % score interval (Wilson 1927) on the number of "
        f"independent items that the share is worth: the items divided by the design effect (Kish 1965). {BETWEEN} So "
        "much as Student's t is wider than the normal with the degrees of freedom that clusters of these sizes have, "
        "so much fewer items it is worth (Korn and Graubard 1998)."
    ),
    DIRICHLET: (
        "The interval of a metric on the table of two targets by two answers is the range of its middle 95 % over "
        "2,000 draws of that table, seed 0, from a Dirichlet distribution on the counts with half an item added to "
        "each cell, widened to the ends of draws with half as much added to right answers and a quarter to wrong ones."
    ),
    DIRICHLET_MANY: (
        "The interval of a metric on a table of more than two labels is the range of its middle 95 % over 2,000 draws "
        "of that table, seed 0, from a Dirichlet distribution on the counts; one item is added to the whole table, "
        "half of it spread over the right answers and half over the wrong ones, widened to the ends of draws with "
        "twice as much added to the wrong ones."
    ),
    BOOTSTRAP: (
        "The interval of a correlation, or of an F1 over words or choices, is the percentile interval over 2,000 "
        "resamples of the items, seed 0 (Efron and Tibshirani 1993); a small random weight of right and of wrong "
        "answers, in a correlation of unrelated pairs, is added to each resample, so that an exam without a mistake "
        "has an interval too."
    ),
    CLUSTERED: (
        "Where items hang together, the interval of a metric that is no share is the percentile interval over 2,000 "
        "resamples of whole clusters, seed 0 (Efron and Tibshirani 1993); a small random weight of right and of wrong "
        "answers, in a correlation of unrelated pairs, is added to each resample, so that an exam without a mistake "
        "has an interval too."
    ),
    UNRELATED: (
        "Where all answers of a task are the same number, or none is a number, the correlation counts as 0; its "
        "interval holds the middle 95 % of 2,000 draws, seed 0, of the correlation of as many unrelated pairs, by "
        "Fisher's transformation (Fisher 1915)."
    ),
    COMBINED: (
        "The interval of an unweighted mean over tasks is made of 2,000 draws of each task's figures, seed 0, which "
        "are averaged over the tasks draw by draw, since tasks are independent of each other; it is the range of the "
        "middle 95 % of these means, widened where it would lie to one side of the score."
    ),
    APART: (
        "Where all items of each task score alike, their draws say nothing: the interval of the mean over tasks then "
        "has the means of the ends of the tasks' own intervals, which is wider than theirs together would be."
    ),
    TANGO: (
        "The interval of a difference of two shares of right answers is the 95 % score interval for paired "
        "proportions (Tango 1998)."
    ),
    PAIRED_T: (
        "The interval of a difference of means of item scores is Student's, on the items' differences (Student 1908); "
        f"for its width two items are added, {TWO}"
    ),
    PAIRED_T_WEIGHTED: (
        "The interval of a difference of means whose items weigh differently is Student's, on the items' weighted "
        "differences (Student 1908), with the degrees of freedom of as many equal items as these are worth (Kish "
        f"1965); for its width two such items are added, {TWO}"
    ),
    PAIRED_T_CLUSTERS: (
        "Where items hang together, the interval of a difference of means of item scores is Student's, on the "
        f"clusters' differences (Miller 2024). {BETWEEN} Two items are added, {TWO}"
    ),
    RESAMPLED_NUMBERS: (
        "The interval of a difference between two correlations is the range of the middle 95 % of 2,000 resamples of "
        "the items, seed 0, the same items for both models (Efron and Tibshirani 1993), each with a small random "
        "weight on which the two disagree; they are laid as much wider as n items are more than the n - 3 of Fisher's "
        "transformation (Fisher 1915)."
    ),
    RESAMPLED: (
        "The interval of a difference in a metric that is no mean of item scores is the range of the middle 95 % of "
        "2,000 draws of the items, seed 0, the same items for both models (Efron and Tibshirani 1993). Where the "
        "metric needs no more than the counts of answers, these are draws of the table of targets by the answers of "
        "both, with one discordant item added; elsewhere they are resamples of the items, each with a small random "
        "weight on which the two disagree. So two runs that never disagree have an interval too."
    ),
    RESAMPLED_CLUSTERS: (
        "Where items hang together, the interval of a difference in a metric that is no mean of item scores is the "
        "range of the middle 95 % of 2,000 resamples of whole clusters, seed 0, the same clusters for both models "
        "(Efron and Tibshirani 1993), each with a small random weight on which the two disagree."
    ),
    STRATIFIED: (
        "The interval of the difference between two headlines over tasks is made of 2,000 draws of each task's "
        "difference, seed 0, on items (or whole clusters) that are the same for both models. They are weighed as in "
        "the headline and added up draw by draw, since tasks are independent of each other, and laid around the "
        "difference; the interval is the range of the middle 95 % of the sums."
    ),
}

MORE = (
    "Where fewer than 20 of these draws are as far and the comparisons are so many that this could decide a verdict, "
    "more are made, until 20 are as far or up to 400 draws a comparison (Besag and Clifford 1991)."
)

# Difference.test -> what it does.
TESTS: Mapping[str, str] = {
    "exact McNemar": (
        "The exact two-sided test of McNemar looks at the discordant items, those that only one of the two models got "
        "right, and asks how often chance would split them as unevenly (McNemar 1947, in its binomial form)."
    ),
    "sign-flip permutation": (
        "The sign-flip permutation test turns the signs of the items' differences in all ways where these are few, "
        "else at random, 10,000 times with seed 0, and counts how often their mean is as far from 0 as it was; the "
        f"exam itself counts as one of the draws, so that no p-value is 0 (Phipson and Smyth 2010). {MORE}"
    ),
    "sign-flip permutation of clusters": (
        "Where items hang together, the sign-flip permutation test turns the signs of all differences of a cluster "
        "together, in all ways where these are few, else at random, 10,000 times with seed 0, and counts how often "
        "their mean is as far from 0 as it was; the exam itself counts as one of the draws, so that no p-value is 0 "
        f"(Phipson and Smyth 2010). {MORE}"
    ),
    "approximate randomisation": (
        "Approximate randomisation exchanges the two models' answers to an item, or does not, at random, 10,000 "
        "times with seed 0 (2,000 times for a metric that needs more than the counts of answers), computes the "
        "metric of both anew, and counts how often they are as far apart as they were (Noreen 1989, Yeh 2000); the "
        f"exam itself counts as one of the draws. {MORE}"
    ),
    "approximate randomisation of clusters": (
        "Where items hang together, approximate randomisation exchanges the two models' answers to all items of a "
        "cluster, or does not, at random, 10,000 times with seed 0 (2,000 times for a metric that needs more than the "
        "counts of answers), computes the metric of both anew, and counts how often they are as far apart as they were "
        f"(Noreen 1989, Yeh 2000); the exam itself counts as one of the draws. {MORE}"
    ),
    "approximate randomisation within tasks": (
        "Approximate randomisation within tasks exchanges the two models' answers to an item (or to all items of a "
        "cluster), or does not, at random, task by task and with seed 0, adds the tasks up to headlines, and counts "
        "how often these are as far apart as they were, in 10,000 draws (2,000 where a task's metric needs more than "
        "the counts of answers; Noreen 1989, Yeh 2000); the exam itself counts as one of the draws. "
        f"{MORE}"
    ),
}

# Methods that would see it if items hang together, and those that take items as independent.
ALLOWING = frozenset({EFFECTIVE, EFFECTIVE_CLUSTERS, EFFECTIVE_TASKS, BOUNDED_TASKS, CLUSTERED})
INDEPENDENT = frozenset({WILSON, DIRICHLET, DIRICHLET_MANY, BOOTSTRAP, UNRELATED})


def split(method: str) -> tuple[str, str]:
    """A method and what is said behind it of one score, "" if nothing.

    >>> split("bootstrap of items; 3 of 20 replies without a number count as the mean of the others")
    ('bootstrap of items', '3 of 20 replies without a number count as the mean of the others')
    """
    base, _, rest = method.partition("; ")
    return base, rest
