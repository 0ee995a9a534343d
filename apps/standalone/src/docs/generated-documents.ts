import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { contractRows, type ContractRow } from './contract/contract-rows.js';
import type { EdgeDescription } from './edge-description.js';
import { documentsWithGeneratedSections, type Document } from './generated-sections.js';

export const repository = fileURLToPath(new URL('../../../..', import.meta.url));

/** The rows of the written interface, docs/interface.md. */
export const readContractRows = async (): Promise<ContractRow[]> =>
  contractRows(await readFile(`${repository}docs/interface.md`, 'utf8'));

/** Every document that is generated from the code, as a whole or in sections. */
export async function generatedDocuments(edge: EdgeDescription): Promise<Document[]> {
  const path = `${repository}docs/openapi.json`;
  const text = await readFile(path, 'utf8').catch(() => '');
  const current = `${JSON.stringify(edge.document, null, 2)}\n`;
  return [...(await documentsWithGeneratedSections()), { path, text, current }];
}
