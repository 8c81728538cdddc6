"""A chat template under which SmolLM2-135M calls tools; its own knows none and leaves them out in silence.

The template names the tools in the form that the server's grammar for tool calls knows, and answers two made-up turns
with a call: without these the model, which is small, goes on in prose.
"""

TOOL_TEMPLATE = """\
{%- macro turn(role, text) -%}
<|im_start|>{{ role }}
{{ text }}<|im_end|>
{% endmacro -%}
{%- macro call(name, arguments) -%}
<tool_call>
{"name": "{{ name }}", "arguments": {{ arguments }}}
</tool_call>
{%- endmacro -%}
{%- set first = messages[0] if messages and messages[0].role == 'system' else none -%}
{%- if tools -%}
{%- set told -%}
{{ first.content ~ '\\n\\n' if first else '' }}# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>
{%- endset -%}
{{ turn('system', told) }}
{%- if messages[-1].role != 'tool' -%}
{%- for asked in ['Call a tool for this.', 'Call one for this, too.'] -%}
{{ turn('user', asked) }}{{ turn('assistant', call(tools[0].function.name, '{}')) }}
{%- endfor -%}
{%- endif -%}
{%- elif first -%}
{{ turn('system', first.content) }}
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == 'user' -%}
{{ turn('user', message.content) }}
{%- elif message.role == 'tool' -%}
{{ turn('user', '<tool_response>\\n' ~ message.content ~ '\\n</tool_response>') }}
{%- elif message.role == 'assistant' -%}
{%- set said = namespace(text=message.content or '') -%}
{%- for one in message.tool_calls or [] -%}
{%- set said.text = said.text ~ '\\n' ~ call(one.function.name, one.function.arguments | tojson) -%}
{%- endfor -%}
{{ turn('assistant', said.text) }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}
"""
