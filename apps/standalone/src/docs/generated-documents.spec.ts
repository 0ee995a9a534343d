import 'reflect-metadata';
import { undeclared, undocumented, unserved } from './contract/served-operations.js';
import { specOperations } from './contract/spec-operations.js';
import { taggedTests } from './contract/test-tags.js';
import { unproven } from './contract/unproven.js';
import { describeEdge, type EdgeDescription } from './edge-description.js';
import { generatedDocuments, readContractRows, repository } from './generated-documents.js';

describe('the documents', () => {
  let edge: EdgeDescription;

  beforeAll(async () => {
    edge = await describeEdge();
  });

  it('are as the code of today makes them (mend: npm run contract)', async () => {
    for (const { text, current } of await generatedDocuments(edge)) expect(text).toBe(current);
  });

  describe('of the interface', () => {
    it('have a test for every row, and no test for a row that is not there', async () => {
      const rows = await readContractRows();
      expect(unproven(rows, await taggedTests(repository, rows))).toEqual({ rows: [], tags: [] });
    });

    it('name operations and statuses that are all documented', async () => {
      const operations = specOperations(await readContractRows());
      expect(operations.length).toBe(38);
      expect(undocumented(operations, edge)).toEqual([]);
    });

    it('name everything that is served, or it is declared as an addition', async () => {
      expect(undeclared(specOperations(await readContractRows()), edge)).toEqual([]);
      expect(unserved(edge)).toEqual([]);
    });
  });
});
