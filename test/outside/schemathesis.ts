import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Process } from '../support/server.ts'
import type { Figure } from './h2spec.ts'
import * as tools from './tools.ts'

const SECONDS = 240
/**
 * Two checks are left out, because the specification of the API decides otherwise: null counts as absent (it would be
 * "negative data"), and a method that a path does not have gets 404 instead of 405.
 */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'missing_required_header',
  'ignored_auth',
]

/** Derives calls from the OpenAPI document, sends them, and holds the responses against the document. */
export function runSchemathesis({ api }: Process): Figure {
  const document = join(import.meta.dirname, '../../docs/openapi.json')
  const target = ['run', document, '--url', api.url, '--header', `Authorization: Bearer ${api.token}`]
  // A stream has no end to wait for.
  const finite = ['--exclude-path-regex', '/stream$']
  const scope = ['--phases', 'examples,coverage,fuzzing', '--checks', checks.join(), ...finite]
  const limits = ['--max-time', String(SECONDS), '--continue-on-failure', '--no-color', '--warnings', 'off']
  const { stdout, status } = spawnSync(tools.schemathesis(), [...target, ...scope, ...limits], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    // It writes its records to the working directory.
    cwd: tmpdir(),
  })
  const found = stdout.indexOf('= FAILURES =')
  const from = found === -1 ? stdout.indexOf('= SUMMARY =') : found
  return { text: `schemathesis: ${stdout.slice(from)}`, isGood: status === 0 }
}
