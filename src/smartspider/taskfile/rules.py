"""Rules: what to take from a page, in the four forms a task may write them.

A string is a CSS selector; a list is alternatives, the first that matches wins; an object is either one rule
or a nested item. An object is one rule when its `type` names a rule type, or when it has an `expr` that is
not itself an object or a list. Every other object is a nested item whose keys are field names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Discriminator, Field, JsonValue, Tag, ValidationInfo, field_validator
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from smartspider.core.rules import RuleType
from smartspider.taskfile.forms import LIST, MARK, OBJECT, TEXT, WRONG_FORM, Part, by_form, form_of
from smartspider.taskfile.values import Text, checked_pattern, wrong

RULE_TYPES: tuple[str, ...] = get_args(RuleType)
RULE = MARK + "rule"
NESTED = MARK + "nested"
STEP = MARK + "step"

_LOOKS_LIKE_A_RULE: JsonDict = {
    "anyOf": [
        {"required": ["type"], "properties": {"type": {"enum": list(RULE_TYPES)}}},
        {"required": ["expr"], "properties": {"expr": {"not": {"type": ["object", "array"]}}}},
    ]
}
_EXPR_IS_TEXT_UNLESS_CONST: JsonDict = {
    "if": {"required": ["type"], "properties": {"type": {"const": "const"}}},
    "else": {"properties": {"expr": {"type": "string", "minLength": 1}}},
}


class Step(Part):
    """One treatment of a value or an item; every further key is an option of the step."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]

    use: Text = Field(description="Name of the step.", examples=["trim", "number"])
    fields: list[Text] | None = Field(
        default=None, description="Fields it treats; all of them when left out."
    )
    enabled: bool = Field(default=True, description="False leaves the step out.")


StepForm = Annotated[
    Annotated[Text, Tag(TEXT)] | Annotated[Step, Tag(STEP)],
    by_form({TEXT: TEXT, OBJECT: STEP}, "the name of a step or an object with 'use'"),
]


class Rule(Part):
    """One value: where it is and how it is read."""

    model_config = ConfigDict(json_schema_extra=_EXPR_IS_TEXT_UNLESS_CONST)

    type: RuleType = Field(default="css", description="The language of `expr`.")
    expr: JsonValue = Field(
        description="The selector or expression; for `const` the value itself, for `meta` the key.",
        examples=[".price::text", "a::attr(href)"],
    )
    many: bool = Field(default=False, description="All values as a list instead of the first.")
    default: JsonValue = Field(default=None, description="The value when nothing matches.")
    required: bool = Field(default=False, description="Without a value the item is rejected.")
    attr: Text | None = Field(default=None, description="Take this attribute of the element.")
    join: str | None = Field(default=None, description="All values as one string, with this between them.")
    text: Literal["clean", "raw"] = Field(
        default="clean", description="`raw` leaves whitespace as the page has it."
    )
    steps: list[StepForm] = Field(default=[], description="Steps that treat the value, in order.")

    @field_validator("expr")
    @classmethod
    def _fits_its_type(cls, value: JsonValue, info: ValidationInfo) -> JsonValue:
        kind = info.data.get("type", "css")
        if kind == "const":
            return value
        if not isinstance(value, str):
            raise wrong("is not text", f"a {kind} rule takes an expression in quotes")
        if not value.strip():
            raise wrong("is empty", f"a {kind} rule needs an expression")
        return checked_pattern(value) if kind == "regex" else value


def is_rule(value: dict[str, Any]) -> bool:
    """Whether an object is one rule; otherwise it is a nested item."""
    kind = value.get("type")
    if isinstance(kind, str) and kind in RULE_TYPES:
        return True
    return "expr" in value and not isinstance(value["expr"], (dict, list, Rule))


def _field_form(value: Any) -> str | None:
    if isinstance(value, dict):
        return RULE if is_rule(value) else NESTED
    return {TEXT: TEXT, LIST: LIST, OBJECT: RULE}.get(form_of(value) or "")


if TYPE_CHECKING:
    # The type checker knows recursive aliases only without the annotations.
    FieldRule = str | Rule | list["FieldRule"] | dict[str, "FieldRule"]
else:
    FieldRule = TypeAliasType(
        "FieldRule",
        Annotated[
            Annotated[Text, Tag(TEXT)]
            | Annotated[Rule, Tag(RULE)]
            | Annotated[list["FieldRule"], Field(min_length=1), Tag(LIST)]
            | Annotated[
                dict[Text, "FieldRule"],
                Field(min_length=1, json_schema_extra={"not": _LOOKS_LIKE_A_RULE}),
                Tag(NESTED),
            ],
            Discriminator(
                _field_form,
                custom_error_type=WRONG_FORM,
                custom_error_message="a rule: a CSS selector, a rule object, a list or an object of rules",
            ),
        ],
    )

OneRule = Annotated[
    Annotated[Text, Tag(TEXT)] | Annotated[Rule, Tag(RULE)],
    by_form({TEXT: TEXT, OBJECT: RULE}, "a CSS selector or a rule object"),
]

ItemsRule = Annotated[
    Annotated[Text, Tag(TEXT)]
    | Annotated[Rule, Tag(RULE)]
    | Annotated[list[OneRule], Field(min_length=1), Tag(LIST)],
    by_form({TEXT: TEXT, OBJECT: RULE, LIST: LIST}, "a CSS selector, a rule object or a list of them"),
]
