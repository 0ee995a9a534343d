import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { requestInvalid, type FieldProblem } from './edge-refusals.js';

const MAX_PROBLEMS = 100;

/** Turns a JSON body into its DTO class, or refuses with every problem it has. Given to a parameter: `@Body(validBody) body: CreateListingBody`. */
class BodyPipe implements PipeTransform<unknown, object> {
  transform(body: unknown, { metatype }: ArgumentMetadata): object {
    if (!isObject(body)) throw requestInvalid([{ field: 'body', message: 'must be a JSON object' }]);
    const dto = plainToInstance(metatype as new () => object, body);
    const errors = validateSync(dto, { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true });
    if (errors.length > 0) throw requestInvalid(problemsOf(errors).slice(0, MAX_PROBLEMS));
    return dto;
  }
}

export const validBody = new BodyPipe();

/** For operations whose whole body is optional: no body is an empty one. */
export const validBodyOrNone: PipeTransform<unknown, object> = { transform: (body, metadata) => validBody.transform(body === undefined ? {} : body, metadata) };

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);

function problemsOf(errors: ValidationError[], path = ''): FieldProblem[] {
  return errors.flatMap(({ property, constraints = {}, children = [] }) => {
    const field = path + property;
    if (constraints.whitelistValidation) return [{ field, message: 'is not a field of this operation' }];
    // A field's own rule says all there is to say; what nested validation adds of a value that is no object repeats it.
    if (constraints.rule) return [{ field, message: constraints.rule }];
    return problemsOf(children, `${field}.`);
  });
}
