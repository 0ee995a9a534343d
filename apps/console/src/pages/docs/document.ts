import { useQuery } from '@tanstack/react-query';
import { ApiError, reach } from '../../api/client.js';

/** The part of OpenAPI 3.1 and JSON Schema that the marketplace's own document uses. */
export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  description?: string;
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}
interface Reference {
  $ref?: string;
}
interface Example extends Reference {
  value?: unknown;
}
interface Parameter extends Reference {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
}
interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, Example>;
}
export interface Answer extends Reference {
  description?: string;
  content?: Record<string, Media>;
}
export interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, Media> };
  responses: Record<string, Answer>;
  'x-access': {
    credential: 'none' | 'optional' | 'required';
    scope?: string;
    account_types: string[];
    owners?: boolean;
  };
  method: string;
  path: string;
}

/** The OpenAPI document of the marketplace. */
export class Description {
  readonly tags: { name: string; description: string }[];
  readonly operations: Operation[];
  private readonly document: Record<string, unknown>;

  constructor(document: Record<string, unknown>) {
    this.document = document;
    this.tags = document['tags'] as Description['tags'];
    const paths = document['paths'] as Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>;
    this.operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
    );
  }

  /** Returns the target of a reference, or the object itself if it is not a reference. */
  the<T extends Reference>(target: T): T {
    if (!target.$ref) return target;
    const names = target.$ref.slice('#/'.length).split('/');
    return names.reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], this.document) as T;
  }
}

export const useDescription = () =>
  useQuery({
    queryKey: ['openapi'],
    queryFn: async ({ signal }) => {
      const answer = await reach(new Request('/api/v1/openapi.json', { signal }));
      if (!answer.ok) throw await ApiError.of(answer);
      return new Description((await answer.json()) as Record<string, unknown>);
    },
    staleTime: Infinity,
  });
