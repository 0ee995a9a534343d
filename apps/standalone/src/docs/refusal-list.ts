import { platformRefusals, topology, type RefusalDeclaration } from '@market/contracts';

/** Every refusal that a service may return to a request of the edge, as Markdown: one list for each kind. */
export function refusalList(): string {
  const declared = [
    ...topology['api-gateway'].calls.flatMap(({ refusals }) => Object.entries(refusals)),
    ...Object.entries(platformRefusals),
  ] as [string, RefusalDeclaration][];
  // The edge does not tell callers why a key was refused.
  const refusals = declared.filter(([, { kind }]) => kind !== 'unauthenticated');
  const kinds = [...new Set(refusals.map(([, { kind }]) => kind))].sort();
  return kinds
    .map((kind) => {
      const lines = refusals.filter(([, refusal]) => refusal.kind === kind).map(lineOf);
      return [`### ${kind}`, '', ...[...new Set(lines)].sort()].join('\n');
    })
    .join('\n\n');
}

const lineOf = ([reason, { message, recovery }]: [string, RefusalDeclaration]): string =>
  `- \`${reason}\`: ${message}${recovery ? ` (\`${recovery.nextAction}\`)` : ''}`;
