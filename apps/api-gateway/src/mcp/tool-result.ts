import type { CallToolResult } from '@modelcontextprotocol/server';
import type { InterfaceAnswer } from './callers-interface.js';

/** Returns the result of a tool as text for models and as structured content for programs. */
export const toolResult = (value: object, more: Partial<CallToolResult> = {}): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value as Record<string, unknown>,
  ...more,
});

/** Returns the answer of an operation: its data, or its error with the next action. */
export const resultOf = ({ json }: InterfaceAnswer): CallToolResult =>
  json.success ? toolResult(json.data as object) : toolResult({ error: json.error }, { isError: true });
