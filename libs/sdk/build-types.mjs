/** Makes dist/openapi.d.ts, the types of the interface, from its document. */
import openapiTS from 'openapi-typescript';
import { writeFile } from 'node:fs/promises';

const document = new URL('../../docs/openapi.json', import.meta.url);
await writeFile('dist/openapi.d.ts', await openapiTS(document, { emptyObjectsUnknown: true, silent: true }));
