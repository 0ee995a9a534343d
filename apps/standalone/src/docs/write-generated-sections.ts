import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import { documentsWithGeneratedSections } from './generated-sections.js';

for (const { path, text, current } of await documentsWithGeneratedSections()) {
  if (text === current) continue;
  await writeFile(path, current);
  process.stdout.write(`${path} is up to date again\n`);
}
