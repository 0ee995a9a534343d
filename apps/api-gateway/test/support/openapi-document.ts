import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export interface Media {
  schema: object;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface DocumentedOperation {
  operationId: string;
  summary: string;
  security?: Record<string, string[]>[];
  'x-access'?: object;
  parameters: { name: string; in: string; required?: boolean }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; headers?: object; content?: Record<string, Media> }>;
}

interface Document {
  openapi: string;
  paths: Record<string, Record<string, DocumentedOperation>>;
  components: { schemas: Record<string, object>; securitySchemes: object };
}

const SHARED = /^#\/components\/(examples|headers|parameters)\//;
const PREFIX = '/api/v1';

/** An OpenAPI document with resolved references and compiled schemas. */
export class OpenApiDocument {
  readonly document: Document;
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true });
  private readonly validators = new Map<string, ValidateFunction>();

  constructor(document: unknown) {
    this.document = followed(document, document) as Document;
    addFormats.default(this.ajv);
    this.ajv.addSchema(this.document, 'document', false, false);
  }

  /** The operations, named like `GET /listings/{listingId}`, without the version prefix. */
  get operations(): (DocumentedOperation & { name: string; method: string; path: string })[] {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        ...operation,
        method,
        path,
        name: `${method.toUpperCase()} ${path.replace(PREFIX, '')}`,
      })),
    );
  }

  operation(name: string): DocumentedOperation {
    const found = this.operations.find((operation) => operation.name === name);
    if (!found) throw new Error(`the document has no ${name}`);
    return found;
  }

  /** The name of the operation that matches a request. A path without parameters takes precedence. */
  nameOf(method: string, path: string): string | undefined {
    const matches = this.operations.filter(
      (operation) =>
        operation.method === method.toLowerCase() &&
        new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
    return matches.sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0]?.name;
  }

  /** Returns the problems of a body by its schema in the document. `status` is undefined for request bodies. */
  misfits(name: string, status: string | undefined, body: unknown): string[] {
    const operation = this.operations.find((candidate) => candidate.name === name);
    if (!operation) return [`${name} is not documented`];
    const { content } = (status === undefined ? operation.requestBody : operation.responses[status]) ?? {};
    if (!content) return [`${name} ${status ?? 'request body'} is not documented`];
    const place = [
      'paths',
      operation.path,
      operation.method,
      ...(status === undefined ? ['requestBody'] : ['responses', status]),
      'content',
      'application/json',
      'schema',
    ];
    const pointer = place.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    let validate = this.validators.get(pointer);
    if (!validate) this.validators.set(pointer, (validate = this.ajv.compile({ $ref: `document#/${pointer}` })));
    if (validate(body)) return [];
    return validate.errors!.map(
      ({ instancePath, message }) => `${name} ${status ?? 'request'}: ${instancePath || 'the body'} ${message}`,
    );
  }
}

function followed(part: unknown, document: unknown): unknown {
  if (Array.isArray(part)) return part.map((item) => followed(item, document));
  if (typeof part !== 'object' || part === null) return part;
  const { $ref } = part as { $ref?: unknown };
  if (typeof $ref === 'string' && SHARED.test($ref))
    return followed(
      $ref
        .slice(2)
        .split('/')
        .reduce((found, step) => (found as Record<string, unknown>)[step], document),
      document,
    );
  return Object.fromEntries(Object.entries(part).map(([name, member]) => [name, followed(member, document)]));
}
