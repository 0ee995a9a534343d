import { platformRefusals, topology, type RefusalDeclaration } from '@market/contracts';

/** Every no that a service may give to what the edge asks, as one Markdown table in the order of the alphabet. */
export function refusalTable(): string {
  const declared = [
    ...topology['api-gateway'].calls.flatMap(({ refusals }) => Object.entries(refusals)),
    ...Object.entries(platformRefusals),
  ] as [string, RefusalDeclaration][];
  // Of a key that is not good the edge tells nobody why.
  const told = declared.filter(([, { kind }]) => kind !== 'unauthenticated');
  const rows = new Set(
    told.map(
      ([reason, { kind, message, recovery }]) =>
        `| \`${reason}\` | ${kind} | ${message} | ${recovery ? `\`${recovery.nextAction}\`` : ''} |`,
    ),
  );
  return ['| reason | kind | message | next_action |', '|---|---|---|---|', ...[...rows].sort()].join('\n');
}
