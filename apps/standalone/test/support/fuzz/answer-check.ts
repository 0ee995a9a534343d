import { NEXT_ACTIONS } from '@market/kernel';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ApiDescription, Operation, Schema } from './operations.js';
import type { RawAnswer } from './raw-client.js';

const CODES = [
  ...[
    'BAD_REQUEST',
    'PAYMENT_ROUTE_MINIMUM_NOT_MET',
    'UNAUTHORIZED',
    'PAYMENT_REQUIRED',
    'FORBIDDEN',
    'NOT_FOUND',
    'CONFLICT',
    'RATE_LIMITED',
  ],
  ...['GONE', 'METHOD_NOT_ALLOWED', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'],
];
/** Statuses of requests whose head was not completely read. */
const UNREAD = [408, 431];
/** Statuses of requests that reach no operation, because their path, method or bytes are invalid. */
const UNROUTED = [...UNREAD, 400, 404, 405, 413, 415, 417];
/** Patterns that no answer may contain: stack traces, paths, names of dependencies, SQL. */
export const OURS = new RegExp(
  [
    /\bat [\w.<> ]+ \(|node_modules|\/src\/|\/dist\/|[cm]?[jt]s:\d+:\d+/,
    /\bSELECT\b.+\bFROM\b|INSERT INTO|\bUPDATE \w+ SET|violates|relation "|syntax error at|duplicate key/,
    /rpc\.[a-z]|payments_ledger|QueryFailed|ECONN|TypeError|ZodError/,
  ]
    .map(({ source }) => source)
    .join('|'),
);
const BANNERS = ['server', 'x-powered-by', 'via', 'x-aspnet-version', 'sourcemap', 'x-sourcemap'];
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The documented answers to a request. */
export type Answers = Pick<Operation, 'id' | 'name' | 'answers'>;

/**
 * Checks answers against the contract: the status is documented, the body fits its schema without further fields, and
 * no internals are disclosed.
 */
export class AnswerCheck {
  private readonly validators = new Map<Schema, ValidateFunction>();
  private readonly ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: false, validateFormats: true }));

  constructor(private readonly description: ApiDescription) {
    this.ajv.addFormat('uri', (text: string) => URL.canParse(text));
  }

  /**
   * Returns all problems of an answer as texts.
   * @param operation which the request was routed to; undefined if it cannot have reached any.
   * @param foreign what the answer must not contain, such as credentials and other accounts' secrets.
   */
  problemsOf(
    operation: Answers | undefined,
    method: string,
    answer: RawAnswer,
    foreign: readonly string[] = [],
  ): string[] {
    const { status, headers, text } = answer;
    const problems: string[] = [];
    const complain = (isWrong: boolean, problem: string): void => void (isWrong && problems.push(problem));

    complain(status >= 500, `it is a failure of the marketplace: ${status}`);
    complain(!REQUEST_ID.test(String(headers['x-request-id'])), 'there is no X-Request-Id');
    complain(headers['x-content-type-options'] !== 'nosniff', 'a browser may guess its type');
    for (const name of BANNERS) complain(headers[name] !== undefined, `the header ${name} tells what runs here`);
    const everything = `${JSON.stringify(headers)}\n${text}`;
    const shown = OURS.exec(operation?.id === 'getOpenApi' ? '' : everything);
    complain(shown !== null, `it shows something of ours: ${shown?.[0]}`);
    for (const secret of foreign)
      complain(everything.includes(secret), `it holds what the caller must not see: ${secret}`);
    if (status === 401) complain(!/^Bearer /.test(headers['www-authenticate'] ?? ''), 'a 401 names no scheme');
    if (status === 429 || status === 503)
      complain(!/^\d+$/.test(headers['retry-after'] ?? ''), `a ${status} does not say when to come again`);
    if (method === 'HEAD' || status === 204 || status === 304) {
      complain(text !== '', `a ${status} to ${method} has a body`);
      if (status < 400) return problems;
    }
    const documented = operation?.answers.get(status);
    complain(
      documented === undefined && !(operation ? UNREAD : UNROUTED).includes(status),
      operation
        ? `${status} is not a documented answer of ${operation.name}`
        : `${status} is no answer to what reaches no operation`,
    );
    if (method === 'HEAD') return problems;
    return [...problems, ...this.bodyProblems(answer, documented)];
  }

  private bodyProblems(
    { status, headers, text, json }: RawAnswer,
    documented: Record<string, Schema> | undefined,
  ): string[] {
    const type = (headers['content-type'] ?? '').split(';')[0]!;
    const schema =
      documented?.[type] ?? (status >= 400 ? this.description.document.components.schemas.Error! : undefined);
    if (documented && documented[type] === undefined)
      return [
        `${status} is documented as ${Object.keys(documented).join(', ') || 'nothing'}, not as ${type || 'a body without a type'}`,
      ];
    if (!schema) return [];
    if (type !== 'application/json') return typeof text === 'string' && text.length > 0 ? [] : [`there is no ${type}`];
    if (json === undefined) return [`it is not JSON: ${text.slice(0, 100)}`];
    const validate = this.validatorOf(schema);
    const misfits = validate(json)
      ? []
      : [`it does not fit its schema: ${this.ajv.errorsText(validate.errors, { dataVar: '' })}`];
    return [...misfits, ...(status >= 400 ? errorProblems(json as ErrorEnvelope) : [])];
  }

  private validatorOf(schema: Schema): ValidateFunction {
    const known = this.validators.get(schema) ?? this.ajv.compile(closed(this.inlined(schema)));
    this.validators.set(schema, known);
    return known;
  }

  /** Replaces references by their schemas, so that each use can be closed separately. */
  private inlined(schema: Schema): Schema {
    if (schema.$ref) return this.inlined(this.description.document.components.schemas[schema.$ref.split('/').at(-1)!]!);
    return mapSchemas(schema, (member) => this.inlined(member));
  }
}

interface ErrorEnvelope {
  error?: { code?: string; details?: Record<string, unknown>; recovery?: { next_action?: string } };
}

function errorProblems({ error }: ErrorEnvelope): string[] {
  const problems: string[] = [];
  if (!CODES.includes(error?.code ?? '')) problems.push(`${error?.code} is no code of the contract`);
  if (!(NEXT_ACTIONS as readonly string[]).includes(error?.recovery?.next_action ?? ''))
    problems.push('it does not say what to do next');
  return problems;
}

/** Forbids fields that are not documented. `details` and the answers of sellers are open by contract. */
function closed(schema: Schema, name = ''): Schema {
  const members = mapSchemas(schema, (member, memberName) => closed(member, memberName));
  const isClosed =
    (schema.properties !== undefined || schema.allOf !== undefined) &&
    schema.additionalProperties === undefined &&
    name !== 'details';
  return isClosed ? ({ ...open(members), unevaluatedProperties: false } as Schema) : members;
}

/** The parts of an `allOf` are closed together instead of individually. */
function open(schema: Schema): Schema {
  return schema.allOf
    ? {
        ...schema,
        allOf: schema.allOf.map(
          ({ unevaluatedProperties: _closed, ...part }: Schema & { unevaluatedProperties?: boolean }) => open(part),
        ),
      }
    : schema;
}

function mapSchemas(schema: Schema, change: (member: Schema, name: string) => Schema): Schema {
  const { properties, items, allOf, anyOf, oneOf, additionalProperties } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, change(member, name)])),
    }),
    ...(items && { items: change(items, 'items') }),
    ...(allOf && { allOf: allOf.map((member) => change(member, '')) }),
    ...(anyOf && { anyOf: anyOf.map((member) => change(member, '')) }),
    ...(oneOf && { oneOf: oneOf.map((member) => change(member, '')) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: change(additionalProperties, '') }),
  };
}
