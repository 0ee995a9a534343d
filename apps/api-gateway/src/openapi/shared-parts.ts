import type { OpenAPIObject } from '@nestjs/swagger';
import type { JsonSchema } from './json-schema.js';

type Parts = Record<string, JsonSchema>;

/** The components of one kind, by name; different parts of one name are told apart by a number. */
class Components {
  readonly parts: Parts = {};

  constructor(private readonly kind: string) {}

  referTo(name: string, part: JsonSchema): JsonSchema {
    const text = JSON.stringify(part);
    for (let n = 1; ; n += 1) {
      const key = n === 1 ? name : `${name}_${n}`;
      this.parts[key] ??= part;
      if (JSON.stringify(this.parts[key]) === text) return { $ref: `#/components/${this.kind}/${key}` };
    }
  }
}

/**
 * What operations have in common is written once and referred to: the examples of refusals, headers asked and answered; and each body has a name.
 * Half of the document is that, and who reads it pays for each word.
 */
export function shareParts(document: OpenAPIObject): void {
  const [examples, headers, parameters, schemas] = [
    new Components('examples'),
    new Components('headers'),
    new Components('parameters'),
    new Components('schemas'),
  ];
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item as Record<string, JsonSchema>));
  for (const operation of operations) {
    const body = (operation.requestBody as { content?: Record<string, { schema: JsonSchema }> } | undefined)?.content?.[
      'application/json'
    ];
    const name = String(operation.operationId);
    if (body?.schema.properties)
      body.schema = schemas.referTo(`${name[0]!.toUpperCase()}${name.slice(1)}Body`, body.schema);
    const asked = (operation.parameters ?? []) as (JsonSchema & { in: string; name: string })[];
    operation.parameters = asked.map((parameter) =>
      parameter.in === 'header' ? parameters.referTo(parameter.name, parameter) : parameter,
    );
    for (const [status, response] of Object.entries(
      operation.responses as Record<string, { headers?: Parts; content?: Record<string, { examples?: Parts }> }>,
    )) {
      response.headers = mapped(response.headers, (header, name) => headers.referTo(name, header));
      if (Number(status) < 400) continue;
      for (const content of Object.values(response.content ?? {}))
        content.examples = mapped(content.examples, (example, name) => examples.referTo(name, example));
    }
  }
  document.components = Object.assign(document.components ?? {}, {
    schemas: { ...schemas.parts, ...document.components?.schemas },
    examples: examples.parts,
    headers: headers.parts,
    parameters: parameters.parts,
  }) as OpenAPIObject['components'];
}

const mapped = (parts: Parts | undefined, change: (part: JsonSchema, name: string) => JsonSchema): Parts | undefined =>
  parts && Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, change(part, name)]));
