import type { CallToolResult } from '@modelcontextprotocol/server';
import type { InterfaceAnswer } from './callers-interface.js';

/** The result of a tool as a model reads it, in text, and as a program does. */
export const toolResult = (value: object, more: Partial<CallToolResult> = {}): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value as Record<string, unknown>,
  ...more,
});

/** What an operation answered: its data, or its error with what to do next. */
export const resultOf = ({ json }: InterfaceAnswer): CallToolResult =>
  json.success ? toolResult(json.data as object) : toolResult({ error: json.error }, { isError: true });
