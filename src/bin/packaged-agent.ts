import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runAgentLine } from '#bin/agent-line.ts'
import { mapStackTraces } from '#bin/source-maps.ts'

async function run(): Promise<void> {
  // Not a literal: the bundle of the whole program is another one, next to this.
  if (!(await runAgentLine())) await import(pathToFileURL(join(__dirname, 'main.mjs')).href)
}

mapStackTraces()
void run()
