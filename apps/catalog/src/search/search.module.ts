import { Module } from '@nestjs/common';
import { LiveIndex } from './live-index.js';
import { TextQueries } from './text-queries.js';

@Module({ providers: [LiveIndex, TextQueries], exports: [LiveIndex, TextQueries] })
export class SearchModule {}
