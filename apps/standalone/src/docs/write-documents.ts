import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import { describeEdge } from './edge-description.js';
import { generatedDocuments } from './generated-documents.js';

for (const { path, text, current } of await generatedDocuments(await describeEdge())) {
  if (text === current) continue;
  await writeFile(path, current);
  process.stdout.write(`${path} is up to date again\n`);
}
