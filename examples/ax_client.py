"""Ax's client with counterfactual credit: a mixed space with a constraint, two trials at a time.

Run: pip install 'ccgbo[ax]' && python examples/ax_client.py
"""

from math import log10

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.generation_strategy.generation_strategy import GenerationStrategy

from ccgbo.integrations.ax import CCGBOGenerationNode


def evaluate(p):
    penalty = {"relu": 0.0, "tanh": 0.3, "gelu": 0.1}[p["activation"]]
    return {"loss": (log10(p["rate"]) + 2.5) ** 2 + (p["layers"] - 4) ** 2 / 10 + (p["dropout"] - 0.2) ** 2 + penalty}


def main(n_trials=30):
    client = Client()
    client.configure_experiment(
        parameters=[
            RangeParameterConfig(name="rate", parameter_type="float", bounds=(1e-5, 1.0), scaling="log"),
            RangeParameterConfig(name="dropout", parameter_type="float", bounds=(0.0, 0.8)),
            RangeParameterConfig(name="layers", parameter_type="int", bounds=(1, 10)),
            ChoiceParameterConfig(
                name="activation", parameter_type="str", values=["relu", "tanh", "gelu"], is_ordered=False
            ),
        ],
        parameter_constraints=["layers + 5 * dropout <= 9"],
    )
    client.configure_optimization(objective="-loss")
    node = CCGBOGenerationNode(seed=0, n_initial=8)
    client.set_generation_strategy(GenerationStrategy(name="CCGBO", nodes=[node]))

    for _ in range(n_trials // 2):
        for index, params in client.get_next_trials(max_trials=2).items():
            client.complete_trial(trial_index=index, raw_data=evaluate(params))

    best, metrics, *_ = client.get_best_parameterization(use_model_predictions=False)
    print(f"best loss {metrics['loss'][0]:.4f} at {best}")
    params, credit = node.credits()[0]
    print(f"most credited ({credit:.2f}): {params}")
    return best


if __name__ == "__main__":
    main()
