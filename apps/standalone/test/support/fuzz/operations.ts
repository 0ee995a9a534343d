import type { AccountType, Scope } from '@market/contracts';

/** The part of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

export interface Parameter {
  in: 'path' | 'query' | 'header';
  name: string;
  schema?: Schema;
}

/** Who may use an operation, according to its `x-access`. */
interface Access {
  credential: 'none' | 'optional' | 'required';
  /** The scope that a key must have; if absent, any key may be used. */
  scope?: Scope;
  account_types: AccountType[];
  /** Also open to the session of the human who has claimed the agent in `agent_id`. */
  owners?: boolean;
  /** Open only to humans who operate the marketplace. */
  operators?: boolean;
}

export interface RequestBody {
  required: boolean;
  schema: Schema;
  /** The examples of the document, each of which is a valid body. */
  examples: object[];
  /** Any JSON object, which is passed on unchanged. */
  isOpaque: boolean;
}

export interface Operation {
  id: string;
  /** `PATCH /listings/{listingId}` */
  name: string;
  method: string;
  /** Relative to `/api/v1`. */
  path: string;
  parameters: Parameter[];
  body: RequestBody | undefined;
  /** By status, then by content type; an answer without a body has none. */
  answers: Map<number, Record<string, Schema>>;
  access: Access;
}

interface DocumentedOperation {
  operationId: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: {
    required?: boolean;
    content: Record<string, { schema: Schema; examples?: Record<string, { value: object }> }>;
  };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
  'x-access'?: Access;
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, DocumentedOperation>>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
}

const PREFIX = '/api/v1';

/** The operations of the OpenAPI document, so that new operations are tested automatically. */
export class ApiDescription {
  readonly operations: Operation[];

  private constructor(readonly document: OpenApiDocument) {
    this.operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, documented]) => this.operationOf(method.toUpperCase(), path, documented)),
    );
  }

  static async read({ baseUrl }: { baseUrl: string }): Promise<ApiDescription> {
    const answer = await fetch(`${baseUrl}${PREFIX}/openapi.json`);
    return new ApiDescription((await answer.json()) as OpenApiDocument);
  }

  /** @throws Error when the document has no such operation. */
  operation(id: string): Operation {
    const found = this.operations.find((operation) => operation.id === id);
    if (!found) throw new Error(`the OpenAPI document has no operation ${id}`);
    return found;
  }

  /** Resolves a reference, and replaces an `allOf` with one member by that member. */
  resolve(schema: Schema): Schema {
    if (schema.$ref) return this.resolve(this.document.components.schemas[schema.$ref.split('/').at(-1)!]!);
    if (schema.allOf?.length === 1) return this.resolve(schema.allOf[0]!);
    const alternatives = (schema.anyOf ?? schema.oneOf)?.filter(({ type }) => type !== 'null');
    return alternatives?.length === 1 ? this.resolve(alternatives[0]!) : schema;
  }

  private operationOf(method: string, path: string, documented: DocumentedOperation): Operation {
    const name = `${method} ${path.slice(PREFIX.length)}`;
    const access = documented['x-access'];
    if (!access) throw new Error(`${name} does not say in x-access who may use it`);
    return {
      id: documented.operationId,
      name,
      method,
      path: path.slice(PREFIX.length),
      parameters: (documented.parameters ?? []).map((parameter) =>
        '$ref' in parameter ? this.document.components.parameters[parameter.$ref.split('/').at(-1)!]! : parameter,
      ),
      body: this.bodyOf(documented),
      answers: new Map(
        Object.entries(documented.responses).map(([status, { content = {} }]) => [
          Number(status),
          Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, schema])),
        ]),
      ),
      access,
    };
  }

  private bodyOf({ requestBody }: DocumentedOperation): RequestBody | undefined {
    const json = requestBody?.content['application/json'];
    if (!json) return undefined;
    const schema = this.resolve(json.schema);
    return {
      required: requestBody?.required ?? false,
      schema,
      examples: Object.values(json.examples ?? {}).map(({ value }) => value),
      isOpaque: schema.properties === undefined,
    };
  }
}
