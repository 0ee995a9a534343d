import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { contractRows, type ContractRow } from './contract/contract-rows.js';
import { contractTable } from './contract/contract-table.js';
import { taggedTests } from './contract/test-tags.js';
import type { EdgeDescription } from './edge-description.js';
import { documentsWithGeneratedSections, type Document } from './generated-sections.js';

export const repository = fileURLToPath(new URL('../../../..', import.meta.url));

/** The rows of the written interface, docs/interface.md. */
export const readContractRows = async (): Promise<ContractRow[]> =>
  contractRows(await readFile(`${repository}docs/interface.md`, 'utf8'));

/** Every document that is generated from the code, as a whole or in sections. */
export async function generatedDocuments(edge: EdgeDescription): Promise<Document[]> {
  const rows = await readContractRows();
  const whole: Record<string, string> = {
    'docs/contract.md': contractTable(rows, await taggedTests(repository, rows)),
    'docs/openapi.json': `${JSON.stringify(edge.document, null, 2)}\n`,
  };
  const documents = Object.entries(whole).map(async ([name, current]) => {
    const path = repository + name;
    return { path, text: await readFile(path, 'utf8').catch(() => ''), current };
  });
  return [...(await documentsWithGeneratedSections()), ...(await Promise.all(documents))];
}
