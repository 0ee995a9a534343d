import { Module } from '@nestjs/common';
import { Contents } from './contents.js';
import { ReadContent } from './read-content.query.js';

@Module({
  providers: [Contents, ReadContent],
  exports: [Contents],
})
export class ContentsModule {}
