import { platformRefusals, topology, type RefusalDeclaration } from '@market/contracts';

/** Every refusal that a service may return to a request of the edge, as one Markdown table in alphabetical order. */
export function refusalTable(): string {
  const declared = [
    ...topology['api-gateway'].calls.flatMap(({ refusals }) => Object.entries(refusals)),
    ...Object.entries(platformRefusals),
  ] as [string, RefusalDeclaration][];
  // The edge does not tell callers why a key was refused.
  const refusals = declared.filter(([, { kind }]) => kind !== 'unauthenticated');
  const rows = new Set(
    refusals.map(
      ([reason, { kind, message, recovery }]) =>
        `| \`${reason}\` | ${kind} | ${message} | ${recovery ? `\`${recovery.nextAction}\`` : ''} |`,
    ),
  );
  return ['| reason | kind | message | next_action |', '|---|---|---|---|', ...[...rows].sort()].join('\n');
}
