import { getAssetKeys, getRawAsset } from 'node:sea'
import { Script } from 'node:vm'
import { runAgentLine } from '#bin/agent-line.ts'

/** The whole program, in Latin-1: a function with the parameters of a CommonJS module. */
const MAIN = 'main.cjs'
/** What V8 has compiled of it; an executable for another platform has none. */
const CODE_CACHE = 'main.cache'

/** The assets are mapped from the file: what is not read takes no memory. */
const asset = (name: string): Buffer => Buffer.from(getRawAsset(name))

function runMain(): void {
  const cachedData = getAssetKeys().includes(CODE_CACHE) ? asset(CODE_CACHE) : undefined
  const script = new Script(asset(MAIN).toString('latin1'), {
    filename: MAIN,
    ...(cachedData && { cachedData }),
  })
  const main = script.runInThisContext() as (...args: unknown[]) => void
  main(require, __filename, __dirname)
}

async function run(): Promise<void> {
  if (!(await runAgentLine())) runMain()
}

void run()
