import { documentsWithGeneratedSections } from './generated-sections.js';

describe('the documents', () => {
  it('list every variable and every refusal as the code declares them (mend: npm run build && node apps/standalone/dist/docs/write-generated-sections.js)', async () => {
    for (const { text, current } of await documentsWithGeneratedSections()) expect(text).toBe(current);
  });
});
