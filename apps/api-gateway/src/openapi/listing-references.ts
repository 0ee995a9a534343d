import type { OpenAPIObject } from '@nestjs/swagger';

/** Operations by which a seller manages its own listing. They take the id of the answer that created it. */
const BY_ID = new Set([
  'updateListing',
  'removeListing',
  'getEndpoint',
  'updateEndpoint',
  'testEndpoint',
  'rotateSecret',
]);

/** Says for every `{listingId}` of a path whether it may be a slug. */
export function documentListingReferences({ paths }: OpenAPIObject): void {
  for (const item of Object.values(paths))
    for (const { operationId, parameters = [] } of Object.values(item) as Operation[])
      for (const parameter of parameters)
        if (parameter.in === 'path' && parameter.name === 'listingId')
          parameter.description = BY_ID.has(operationId)
            ? 'The uuid of the listing; a slug is not found here.'
            : 'The uuid of the listing, or its slug.';
}

interface Operation {
  operationId: string;
  parameters?: { in?: string; name?: string; description?: string }[];
}
