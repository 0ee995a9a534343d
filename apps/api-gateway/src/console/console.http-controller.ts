import { Controller, Get, NotFoundException, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { ConsoleFiles } from './console-files.js';

/** The routes that the console itself knows (apps/console/src/app.tsx); it is one page, which shows what its address says. */
const PAGES = ['', 'catalog', 'listings/:slug', 'sign-in', 'mine', 'mine/*page'];

/** Outside of `/api/v1`, where the console's routes lie; Nest's global prefix leaves these out. */
export const CONSOLE_ROUTES = [...PAGES, 'assets/:name'];

/** The web console: files, and no part of the interface. */
@ApiExcludeController()
@Controller()
export class ConsoleHttpController {
  constructor(private readonly files: ConsoleFiles) {}

  @Get(PAGES)
  @Public({ rate: 'none' })
  getPage(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.files.sendPage(request, reply);
  }

  @Get('assets/:name')
  @Public({ rate: 'none' })
  getAsset(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const bytes = this.files.sendAsset(name, request, reply);
    if (!bytes) throw new NotFoundException();
    return bytes;
  }
}
