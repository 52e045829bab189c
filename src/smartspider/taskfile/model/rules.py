"""Extraction rules, in the four forms a task can write them.

A string is a CSS selector; a list is alternatives, of which the first match wins; an object is either a
rule or a nested item. An object is a rule if it has an `expr` that is neither an object nor a list, if its
`type` requires an `expr`, or if its `type` requires none and all its keys are keys of a rule. Every other
object is a nested item whose keys are field names.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    Tag,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    field_validator,
    model_serializer,
)
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from smartspider.core.functions import FUNCTION_PATTERN, parse_function
from smartspider.core.pages.rules import EXPRESSIONS, RuleType
from smartspider.taskfile.model.forms import LIST, MARK, OBJECT, TEXT, WRONG_FORM, Section, by_form, form_of
from smartspider.taskfile.model.values import MAX_EXPRESSION, Selector, Text, invalid_value, validate_pattern

RULE_TYPES: tuple[str, ...] = get_args(RuleType)
_ALONE = [kind for kind in RULE_TYPES if kind not in EXPRESSIONS]
RULE = MARK + "rule"
NESTED = MARK + "nested"
STEP = MARK + "step"

_LOOKS_LIKE_A_RULE: JsonDict = {
    "anyOf": [
        {"required": ["type"], "properties": {"type": {"enum": [*sorted(EXPRESSIONS)]}}},
        {"required": ["expr"], "properties": {"expr": {"not": {"type": ["object", "array"]}}}},
    ]
}
_EXPR_FITS_TYPE: JsonDict = {
    "if": {"required": ["type"], "properties": {"type": {"const": "const"}}},
    "then": {"required": ["expr"]},
    "else": {
        "if": {
            "required": ["type"],
            "properties": {"type": {"anyOf": [{"enum": [*_ALONE]}, {"pattern": FUNCTION_PATTERN}]}},
        },
        "then": {"properties": {"expr": {"type": ["string", "null"], "minLength": 1}}},
        "else": {"required": ["expr"], "properties": {"expr": {"type": "string", "minLength": 1}}},
    },
}


class Step(Section):
    """A step that transforms a value or an item; further keys are its options."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]

    use: Text = Field(description="Name of the step.", examples=["trim", "number"])
    fields: list[Text] | None = Field(default=None, description="Fields to transform; default: all.")
    enabled: bool = Field(default=True, description="False disables the step.")


StepForm = Annotated[
    Annotated[Text, Tag(TEXT)] | Annotated[Step, Tag(STEP)],
    by_form({TEXT: TEXT, OBJECT: STEP}, "the name of a step or an object with 'use'"),
]


def _type_or_function(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Accept a reference to a function; everything else must be a rule type."""
    return value if parse_function(value) is not None else validate(value)


_FUNCTION: JsonDict = {"type": "string", "pattern": FUNCTION_PATTERN}
if TYPE_CHECKING:
    RuleTypeOrFunction = str
else:
    RuleTypeOrFunction = Annotated[
        RuleType,
        WrapValidator(_type_or_function),
        PlainSerializer(lambda value: value, return_type=str),
        WithJsonSchema({"anyOf": [{"type": "string", "enum": [*RULE_TYPES]}, _FUNCTION]}),
    ]


class Rule(Section):
    """The rule of one value: its location and how to read it."""

    model_config = ConfigDict(json_schema_extra=_EXPR_FITS_TYPE)

    type: RuleTypeOrFunction = Field(
        default="css",
        description="The language of `expr`; from `json_ld` on, what the JMESPath `expr` looks into. Local"
        " commands also take a function of a Python file: `./my_rules.py:price`.",
    )
    expr: JsonValue = Field(
        default=None,
        validate_default=True,
        description="The selector or expression; for `const` the value itself, for `meta` the key.",
        examples=[".price::text", "a::attr(href)"],
    )
    within: Selector | None = Field(
        default=None,
        alias="in",
        description="JMESPath: CSS of the elements (or `::attr()`) that hold the JSON; default the page.",
        examples=["script#__NEXT_DATA__"],
    )
    many: bool = Field(default=False, description="All values as a list instead of the first.")
    default: JsonValue = Field(default=None, description="The value when nothing matches.")
    required: bool = Field(default=False, description="Reject the item if there is no value.")
    attr: Text | None = Field(default=None, description="Take this attribute of the element.")
    join: str | None = Field(default=None, description="Join all values with this separator.")
    text: Literal["clean", "raw"] = Field(default="clean", description="`raw` keeps whitespace unchanged.")
    fields: dict[Text, FieldRule] = Field(
        default={},
        description="Each match is an object with these fields, relative to it; `many` returns all.",
    )
    steps: list[StepForm] = Field(default=[], description="Steps applied to the value, in order.")

    @field_validator("expr")
    @classmethod
    def _fits_its_type(cls, value: JsonValue, info: ValidationInfo) -> JsonValue:
        kind = info.data.get("type", "css")
        if kind == "const" or (value is None and kind not in EXPRESSIONS):
            return value
        if value is None:
            raise PydanticCustomError("missing", "a rule of this type needs an expression")
        if not isinstance(value, str):
            raise invalid_value("is not text", f"a {kind} rule takes an expression in quotes")
        if not value.strip():
            raise invalid_value("is empty", f"a {kind} rule needs an expression")
        if len(value) > MAX_EXPRESSION:
            raise invalid_value(f"has {len(value)} characters", f"at most {MAX_EXPRESSION} are allowed")
        return validate_pattern(value) if kind == "regex" else value

    @model_serializer(mode="wrap")
    def _with_its_constant(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Keep a constant that is null: it differs from a missing one."""
        written: dict[str, Any] = write(self)
        return {**written, "expr": None} if self.type == "const" and self.expr is None else written


def is_rule(value: dict[str, Any]) -> bool:
    """Return whether an object is a rule rather than a nested item."""
    kind = value.get("type")
    if isinstance(kind, str):
        needs_no_expr = kind in RULE_TYPES or parse_function(kind) is not None
        if kind in EXPRESSIONS or (needs_no_expr and value.keys() <= _rule_keys()):
            return True
    return "expr" in value and not isinstance(value["expr"], (dict, list, Rule))


@cache
def _rule_keys() -> frozenset[str]:
    return frozenset(field.alias or name for name, field in Rule.model_fields.items())


def _field_form(value: Any) -> str | None:
    if isinstance(value, dict):
        return RULE if is_rule(value) else NESTED
    return {TEXT: TEXT, LIST: LIST, OBJECT: RULE}.get(form_of(value) or "")


if TYPE_CHECKING:
    # Type checkers support recursive aliases only without annotations.
    FieldRule = str | Rule | list["FieldRule"] | dict[str, "FieldRule"]
else:
    FieldRule = TypeAliasType(
        "FieldRule",
        Annotated[
            Annotated[Selector, Tag(TEXT)]
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
    Annotated[Selector, Tag(TEXT)] | Annotated[Rule, Tag(RULE)],
    by_form({TEXT: TEXT, OBJECT: RULE}, "a CSS selector or a rule object"),
]

ItemsRule = Annotated[
    Annotated[Selector, Tag(TEXT)]
    | Annotated[Rule, Tag(RULE)]
    | Annotated[list[OneRule], Field(min_length=1), Tag(LIST)],
    by_form({TEXT: TEXT, OBJECT: RULE, LIST: LIST}, "a CSS selector, a rule object or a list of them"),
]

Rule.model_rebuild()
