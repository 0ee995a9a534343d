import { z } from 'zod';

export interface Variable<T = unknown> {
  name: string;
  schema: z.ZodType<T>;
  /** One sentence for operators: the meaning and the unit. */
  help: string;
}

export type Environment = Record<string, string | undefined>;

/** A typed view of some environment variables. It is read once; each wrong variable yields a sentence. */
export interface ConfigDefinition<T = unknown> {
  readonly token: symbol;
  readonly variables: Record<string, Variable>;
  /** @returns the values. Adds problems to `problems`, each with the variable's name and never its value. */
  parse(env: Environment, problems: string[]): T;
}

export type ConfigOf<D> = D extends ConfigDefinition<infer T> ? T : never;

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: string[]) {
    super(`the configuration is not usable:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

export const variable = <T>(name: string, schema: z.ZodType<T>, help: string): Variable<T> => ({ name, schema, help });

export function defineConfig<V extends Record<string, Variable>>(
  name: string,
  variables: V,
): ConfigDefinition<{ [K in keyof V]: V[K] extends Variable<infer T> ? T : never }> {
  return {
    token: Symbol(`config:${name}`),
    variables,
    parse(env, problems) {
      const values: Record<string, unknown> = {};
      for (const [key, { name: variableName, schema, help }] of Object.entries(variables)) {
        const result = schema.safeParse(env[variableName] || undefined);
        if (result.success) values[key] = result.data;
        else
          problems.push(`${variableName}: ${result.error.issues.map((issue) => issue.message).join(', ')} (${help})`);
      }
      return values as never;
    },
  };
}

/** Building blocks for variables, which convert text to a value. */
export const text = (fallback?: string) => withDefault(z.string(), fallback);
export const integer = (min: number, max: number, fallback?: number) =>
  withDefault(
    z
      .string()
      .regex(/^-?\d+$/, 'must be an integer')
      .transform(Number)
      .pipe(z.number().min(min).max(max)),
    fallback?.toString(),
  );
export const flag = (fallback: boolean) =>
  withDefault(
    z.enum(['true', 'false'], 'must be true or false').transform((value) => value === 'true'),
    String(fallback),
  );
export const choice = <const T extends readonly [string, ...string[]]>(options: T, fallback?: T[number]) =>
  withDefault(z.enum(options, `must be one of ${options.join(', ')}`), fallback);
const anyUrl = z.url('must be a URL');
export const url = (fallback?: string) => withDefault(anyUrl, fallback);
/** A URL that paths are appended to. It has no slash at its end. */
export const baseUrl = (fallback?: string) =>
  withDefault(
    anyUrl.overwrite((address) => address.replace(/\/+$/, '')),
    fallback,
  );
export const optional = <T>(schema: z.ZodType<T>) => schema.optional();

function withDefault<S extends z.ZodType>(schema: S, fallback: string | undefined): z.ZodType<z.output<S>> {
  const required = z.string('is required').pipe(schema as unknown as z.ZodType<z.output<S>, string>);
  return (fallback === undefined ? required : z.string().default(fallback).pipe(required)) as unknown as z.ZodType<
    z.output<S>
  >;
}
