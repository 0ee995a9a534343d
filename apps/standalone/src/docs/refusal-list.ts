import { platformRefusals, topology, type RefusalDeclaration } from '@market/contracts';

/**
 * Every reason with which a service may refuse a request of the edge, as a Markdown list: by kind, and by what to do
 * next where it is not what the kind says.
 */
export function refusalList(): string {
  const declared = [
    ...topology['api-gateway'].calls.flatMap(({ refusals }) => Object.entries(refusals)),
    ...Object.entries(platformRefusals),
  ] as [string, RefusalDeclaration][];
  // The edge does not tell callers why a key was refused.
  const refusals = declared.filter(([, { kind }]) => kind !== 'unauthenticated');
  const reasons = new Map<string, Set<string>>();
  for (const [reason, { kind, recovery }] of refusals) {
    const group = recovery ? `${kind}, \`${recovery.nextAction}\`` : kind;
    reasons.set(group, (reasons.get(group) ?? new Set()).add(`\`${reason}\``));
  }
  return [...reasons]
    .map(([group, members]) => `- ${group}: ${[...members].sort().join(', ')}`)
    .sort()
    .join('\n');
}
