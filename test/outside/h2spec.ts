import { spawnSync } from 'node:child_process'
import type { Process } from '../support/server.ts'
import * as tools from './tools.ts'

/** The cases that nghttp2 decides otherwise; docs/decisions.md says how. */
const KNOWN_FAILURES = 8

export interface Figure {
  readonly text: string
  readonly isGood: boolean
}

/**
 * Runs all cases of h2spec, the strict ones too, against the HTTPS listener. It asks for the address that it connects
 * to, so it gets the page for unknown hosts; the frames are handled before a host is looked up.
 */
export function runH2spec(server: Process): Figure {
  const port = String(server.bound.https?.port)
  const { stdout } = spawnSync(
    tools.h2spec(),
    ['--host', '127.0.0.1', '--port', port, '--tls', '--insecure', '--strict'],
    { encoding: 'utf8' },
  )
  const [, total = '', passed = '', skipped = '', failed = ''] =
    /(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed/.exec(stdout) ?? []
  const failures = stdout.slice(stdout.indexOf('Failures:')).trim()
  return {
    text: `h2spec: ${passed} of ${total} cases passed, ${skipped} skipped, ${failed} failed\n${failures}`,
    isGood: total !== '' && Number(failed) <= KNOWN_FAILURES,
  }
}
