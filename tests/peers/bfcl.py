"""Grades calls by the checker of the Berkeley Function-Calling Leaderboard: `bfcl.py QUESTIONS ANSWERS CALLS`.

CALLS has one line for each question: the list of the calls of a model, each `{NAME: ARGUMENTS}`. For each question,
the category and the errors of the checker are printed as JSON; a category without expected calls has no errors.
"""

import json
import sys
import types

# The table of the models that can be evaluated imports the clients of all their vendors. The checker needs only one
# property of the model at hand: that it takes names with dots.
table = types.ModuleType("bfcl_eval.constants.model_config")
table.MODEL_CONFIG_MAPPING = {"model": types.SimpleNamespace(underscore_to_dot=False)}
sys.modules[table.__name__] = table

from bfcl_eval.constants.category_mapping import SINGLE_TURN_CATEGORY
from bfcl_eval.constants.enums import Language
from bfcl_eval.constants.type_mappings import GORILLA_TO_OPENAPI
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
from bfcl_eval.utils import extract_test_category_from_id, is_relevance_or_irrelevance, load_file


def check_types(schema):
    """Fails for a type that the leaderboard cannot translate for the servers of models."""
    for parameter in schema["properties"].values():
        assert parameter["type"] in GORILLA_TO_OPENAPI, parameter
        assert isinstance(parameter["description"], str), parameter
        if "properties" in parameter:
            check_types(parameter)
        elif "items" in parameter:
            assert parameter["items"]["type"] in GORILLA_TO_OPENAPI, parameter


def main():
    questions, answers, calls = sys.argv[1:]
    answers = {answer["id"]: answer["ground_truth"] for answer in load_file(answers, use_lock=False)}
    graded = []
    for question, made in zip(load_file(questions, use_lock=False), load_file(calls, use_lock=False), strict=True):
        category = extract_test_category_from_id(question["id"])
        assert category in SINGLE_TURN_CATEGORY, category
        assert all(message["role"] in ("system", "user") for turn in question["question"] for message in turn)
        functions = question["function"]
        assert len({function["name"] for function in functions}) == len(functions), functions
        for function in functions:
            assert function["parameters"]["type"] == "dict", function
            check_types(function["parameters"])
        if is_relevance_or_irrelevance(category):
            assert question["id"] not in answers and not made, question
            graded.append([category, []])
            continue
        result = ast_checker(functions, made, answers[question["id"]], Language.PYTHON, category, "model")
        graded.append([category, [] if result["valid"] else result["error"]])
    print(json.dumps(graded))


main()
