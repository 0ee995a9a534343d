import { exampleOf, isObject, SchemaExtract, type Json, type JsonSchema } from './json-schemas.js';
import { reply } from './seller-replies.js';
import type { SellerRequest } from './seller-server.js';
import { ifSmall, listingOf, type Service } from './service.js';

export interface OpenApiOptions {
  /** The base address of the API, which the paths of the document follow. */
  upstream: string;
  /** Sent with each request, such as a key of the API. */
  headers?: Record<string, string>;
}

/** A parameter in the path or the query, and which property of the input it is. */
interface Parameter {
  name: string;
  in: string;
  property: string;
  style?: string;
  explode?: boolean;
  /** Its value is sent as JSON. */
  isJson: boolean;
}
/** The body of an operation: the whole input, or its property `body`. */
interface Body {
  mediaType: string;
  schema: JsonSchema;
  isWhole: boolean;
}
interface Operation {
  method: string;
  path: string;
  accept: string;
  parameters: Parameter[];
  body?: Body;
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];
const JSON_TYPE = /^application\/([^;]+\+)?json\b/i;
const FORM_TYPE = /^application\/x-www-form-urlencoded/i;
const MULTIPART_TYPE = /^multipart\/form-data/i;
const SHORT_NAMES: Record<string, string> = { 'text/event-stream': 'sse', 'application/x-ndjson': 'ndjson' };

/**
 * Makes a service of each operation of an OpenAPI document of version 3, without references to other documents. The
 * parameters and the body are one object: the body alone where there are no parameters, or else its property `body`.
 * An operation may have fields of its listing as `x-market`. `left` are those that cannot be sold, and why.
 */
export function openApiServices(
  document: object,
  options: OpenApiOptions,
): { services: Service[]; left: { id: string; reason: string }[] } {
  const { openapi, paths } = document as { openapi?: unknown; paths?: Json };
  if (!/^3\./.test(String(openapi))) throw new TypeError('This is no OpenAPI document of version 3.');
  const services: Service[] = [];
  const left: { id: string; reason: string }[] = [];
  for (const [path, item] of Object.entries(paths ?? {})) {
    const shared = new SchemaExtract(document).resolved(item);
    for (const method of METHODS.filter((name) => isObject(shared[name]))) {
      const own = shared[method] as Json;
      const id = String(own.operationId ?? `${method}${path.replace(/\W+/g, '-')}`.replace(/-$/, ''));
      const parameters = [shared.parameters, own.parameters].flatMap((list) => (Array.isArray(list) ? list : []));
      try {
        services.push(serviceOf(document, { ...own, parameters }, { id, method, path }, options));
      } catch (error) {
        left.push({ id, reason: (error as Error).message });
      }
    }
  }
  return { services, left };
}

function serviceOf(
  document: object,
  described: Json & { parameters: unknown[] },
  { id, method, path }: Record<'id' | 'method' | 'path', string>,
  options: OpenApiOptions,
): Service {
  const { summary = id, description = summary, tags } = described;
  const { schema, ...taken } = inputOf(document, described, options);
  const { formats, output, accept } = answersOf(document, described);
  const operation: Operation = { method: method.toUpperCase(), path, accept, ...taken };
  const listing = listingOf(
    {
      name: String(summary),
      description: String(description),
      tags: Array.isArray(tags) ? tags.map(String) : [],
      formats,
      input_schema: schema,
      example_input: exampleOf(schema) as Json,
      output_schema: ifSmall(output),
    },
    described['x-market'],
  );
  return { id, listing, handler: (request) => relay(operation, request, options) };
}

/** One JSON object for all that an operation takes. */
function inputOf(
  document: object,
  described: Json & { parameters: unknown[] },
  { headers = {} }: OpenApiOptions,
): { parameters: Parameter[]; body?: Body; schema: JsonSchema } {
  const extract = new SchemaExtract(document);
  const body = bodyOf(extract, described);
  const stated = described.parameters.map((each) => extract.resolved(each));
  for (const { in: place, name, required } of stated)
    if (place !== 'path' && place !== 'query' && required && !new Headers(headers).has(String(name)))
      throw new TypeError(`It needs the ${String(place)} ${String(name)}.`);
  // The last of the same name and place is the operation's own, before it the path's.
  const last = new Map(stated.map((each) => [`${String(each.in)} ${String(each.name)}`, each]));
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  const parameters: Parameter[] = [];
  for (const parameter of last.values()) {
    const { name, in: place, description, schema, content, style, explode } = parameter as Json & Parameter;
    if (place !== 'path' && place !== 'query') continue;
    const property = name in properties || (name === 'body' && body) ? `${place}_${name}` : name;
    const [media] = Object.values(isObject(content) ? content : {}) as Json[];
    properties[property] = {
      ...(extract.of(schema ?? media?.schema ?? {}) as JsonSchema),
      ...(description !== undefined && { description }),
      ...examplesOf(parameter, extract),
    };
    if (parameter.required) required.push(property);
    parameters.push({ name, in: place, property, style, explode, isJson: media !== undefined });
  }
  if (body && parameters.length === 0 && [undefined, 'object'].includes(body.schema.type as string))
    return {
      parameters,
      body: { ...body, isWhole: true },
      schema: extract.completed({ ...body.schema, type: 'object' }),
    };
  if (body) properties.body = body.schema;
  if (body?.required) required.push('body');
  const schema = { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
  return { parameters, body, schema: extract.completed(schema) };
}

function bodyOf(extract: SchemaExtract, { requestBody }: Json): (Body & { required: boolean }) | undefined {
  if (requestBody === undefined) return undefined;
  const { content, required } = extract.resolved(requestBody);
  const types = Object.keys(isObject(content) ? content : {});
  const mediaType = [JSON_TYPE, FORM_TYPE, MULTIPART_TYPE].flatMap((form) =>
    types.filter((type) => form.test(type)),
  )[0];
  if (mediaType === undefined) throw new TypeError(`Its body is ${types.join(' or ')}.`);
  const media = (content as Record<string, Json>)[mediaType]!;
  const schema = { ...(extract.of(extract.resolved(media.schema)) as JsonSchema), ...examplesOf(media, extract) };
  if (MULTIPART_TYPE.test(mediaType))
    for (const field of fieldsOf(schema))
      if (isFile(field)) Object.assign(field, { format: 'base64', contentEncoding: 'base64' });
  return { mediaType, schema, required: required === true, isWhole: false };
}

/** The schemas of a form's fields, and of the items of those that are lists. */
const fieldsOf = ({ properties = {} }: JsonSchema): Json[] =>
  Object.values(properties as Record<string, Json>).flatMap((field) => [field, field.items].filter(isObject));

/** A file of a form is base64 in JSON. */
const isFile = ({ type, format, contentMediaType }: Json): boolean =>
  type === 'string' && (format === 'binary' || format === 'base64' || contentMediaType !== undefined);

/** The first example that is written beside a schema. */
function examplesOf({ example, examples }: Json, extract: SchemaExtract): { examples?: unknown[] } {
  const [first] = Object.values(isObject(examples) ? examples : {});
  const value = example ?? (first && extract.resolved(first).value);
  return value === undefined ? {} : { examples: [value] };
}

/** What the documented answers of success are. */
function answersOf(document: object, { responses }: Json): { formats: string[]; output?: JsonSchema; accept: string } {
  const extract = new SchemaExtract(document);
  const contents = Object.entries(isObject(responses) ? responses : {})
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, answer]) => Object.entries((extract.resolved(answer).content ?? {}) as Json));
  const types = contents.map(([type]) => type.split(';')[0]!.trim().toLowerCase());
  const others = types.filter((type) => !JSON_TYPE.test(type) && !type.includes('*') && type.length <= 50);
  const json = contents.find(([type]) => JSON_TYPE.test(type));
  const { schema } = extract.resolved(json?.[1]);
  return {
    formats: [...new Set(['json', ...others.map((type) => SHORT_NAMES[type] ?? type)])],
    ...(schema !== undefined && { output: SchemaExtract.whole(document, schema) }),
    accept: [...new Set(types), '*/*;q=0.1'].join(', '),
  };
}

/** Sends a call to the API. Its answer is the seller's, whatever it is; none in time, or a broken one, is no delivery. */
async function relay(
  operation: Operation,
  { body: input, rawBody, call, signal }: SellerRequest<Json>,
  { upstream, headers }: OpenApiOptions,
): Promise<unknown> {
  const url = addressOf(operation, input, upstream);
  if (!url) return reply(422, { error: 'path_parameter_invalid' });
  const body = operation.body && encoded(operation.body, input, rawBody);
  const answer = await fetch(url, {
    method: operation.method,
    headers: {
      accept: operation.accept,
      'accept-encoding': 'identity',
      'x-market-request-id': call.requestId,
      ...(call.buyerId !== null && { 'x-market-buyer-id': call.buyerId }),
      ...(JSON_TYPE.test(operation.body?.mediaType ?? '') && { 'content-type': operation.body!.mediaType }),
      ...headers,
    },
    body,
    // Credentials are for this address alone.
    redirect: 'manual',
    signal,
  });
  // A success without a body would be none for the marketplace.
  return answer.status === 204 || (answer.ok && answer.headers.get('content-length') === '0') ? null : answer;
}

/** @returns undefined if a parameter is missing or would lead to another path than the operation's. */
function addressOf({ path, parameters }: Operation, input: Json, upstream: string): URL | undefined {
  const base = upstream.replace(/\/+$/, '');
  const filled = path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const parameter = parameters.find((each) => each.in === 'path' && each.name === name);
    return encodeURIComponent(textOf(input[parameter?.property ?? ''] ?? ''));
  });
  const stated = path.split('/');
  // `.` and `..` are steps to elsewhere.
  const isWithin = filled.split('/').every((part, at) => !/^\.{1,2}$/.test(part) && (part !== '' || stated[at] === ''));
  if (!isWithin) return undefined;
  const url = new URL(base + filled);
  for (const parameter of parameters.filter((each) => each.in === 'query'))
    for (const [name, value] of queryOf(parameter, input[parameter.property])) url.searchParams.append(name, value);
  return url;
}

const textOf = (value: unknown): string =>
  isObject(value) ? JSON.stringify(value) : String(value as string | number | boolean | unknown[]);

/** The pairs of a query parameter, in the style that OpenAPI names. */
function queryOf(
  { name, style = 'form', explode = style === 'form', isJson }: Parameter,
  value: unknown,
): [string, string][] {
  if (value === undefined || value === null) return [];
  if (isJson) return [[name, JSON.stringify(value)]];
  const separator = { spaceDelimited: ' ', pipeDelimited: '|' }[style] ?? ',';
  if (Array.isArray(value))
    return explode ? value.map((item) => [name, textOf(item)]) : [[name, value.map(textOf).join(separator)]];
  if (!isObject(value)) return [[name, textOf(value)]];
  const members = Object.entries(value).map(([key, member]): [string, string] => [key, textOf(member)]);
  if (style === 'deepObject') return members.map(([key, member]) => [`${name}[${key}]`, member]);
  return explode ? members : [[name, members.flat().join(separator)]];
}

function encoded(
  { mediaType, schema, isWhole }: Body,
  input: Json,
  rawBody: Uint8Array,
): string | Uint8Array<ArrayBuffer> | FormData | URLSearchParams | undefined {
  const value = isWhole ? input : input.body;
  if (value === undefined) return undefined;
  // The bytes as they came keep what `JSON.parse` does not.
  if (JSON_TYPE.test(mediaType)) return isWhole ? new Uint8Array(rawBody) : JSON.stringify(value);
  const form = new FormData();
  for (const [name, field] of Object.entries(value as Json)) {
    const isBase64 = fieldsOf({ properties: { field: (schema.properties as Json | undefined)?.[name] ?? {} } }).some(
      isFile,
    );
    for (const each of [field].flat())
      if (isBase64) form.append(name, new Blob([Buffer.from(String(each), 'base64')]), name);
      else form.append(name, textOf(each));
  }
  return MULTIPART_TYPE.test(mediaType) ? form : new URLSearchParams([...form] as [string, string][]);
}
