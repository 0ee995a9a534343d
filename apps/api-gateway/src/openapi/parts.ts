import type { OpenAPIObject } from '@nestjs/swagger';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
type Node = Record<string, unknown>;

/**
 * The operations of one tag, with the components that they refer to, directly or through others. Without a tag, all of
 * them.
 */
export function documentOf(document: OpenAPIObject, tag: string | undefined, withExamples: boolean): OpenAPIObject {
  const whole = (withExamples ? document : withoutExamples(document)) as OpenAPIObject;
  if (tag === undefined) return whole;
  const paths = Object.fromEntries(
    Object.entries(whole.paths).flatMap(([path, item]) => {
      const kept = Object.entries(item).filter(
        ([key, value]) => !METHODS.includes(key as never) || (value as { tags?: string[] }).tags?.includes(tag),
      );
      return kept.some(([key]) => METHODS.includes(key as never)) ? [[path, Object.fromEntries(kept)]] : [];
    }),
  );
  const components = (whole.components ?? {}) as Record<string, Node>;
  const used = new Set<string>();
  const open: unknown[] = [paths];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const ref of refsIn(next)) {
      if (used.has(ref)) continue;
      used.add(ref);
      const [kind, name] = ref.slice('#/components/'.length).split('/') as [string, string];
      open.push(components[kind]?.[name]);
    }
  }
  const kept = Object.entries(components).map(([kind, parts]) => [
    kind,
    kind === 'securitySchemes'
      ? parts
      : Object.fromEntries(Object.entries(parts).filter(([name]) => used.has(`#/components/${kind}/${name}`))),
  ]);
  return {
    ...whole,
    tags: whole.tags?.filter(({ name }) => name === tag),
    paths,
    components: Object.fromEntries(kept) as OpenAPIObject['components'],
  };
}

function refsIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]: [string, unknown]) =>
    key === '$ref' && typeof value === 'string' && value.startsWith('#/components/') ? [value] : refsIn(value),
  );
}

/** Names of properties are no keywords, so a property that is called "example" stays. */
function withoutExamples(node: unknown, isNames = false): unknown {
  if (Array.isArray(node)) return node.map((item) => withoutExamples(item));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node)
      .filter(([key]) => isNames || (key !== 'example' && key !== 'examples'))
      .map(([key, value]: [string, unknown]) => [key, withoutExamples(value, !isNames && key === 'properties')]),
  );
}
