import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc, { type Arbitrary } from 'fast-check'
import { newId } from '#base/ids.ts'
import type { Body } from '#contract/body.ts'
import { operations } from '#contract/operations.ts'
import { isCollection, Seeds } from '../support/seeds.ts'
import { startServer, type Answer, type TestServer } from '../support/server.ts'
import { valid } from './fuzz-bodies.ts'
import { fits, OpenApiDocument, type Documented, type Schema } from './fuzz-document.ts'
import { faultsOf } from './fuzz-faults.ts'

const long = process.env['TEST_LONG'] !== undefined
const BODIES = long ? 5000 : 200
const CALLS_WITHOUT_BODY = long ? 500 : 20
const AT_ONCE = 16
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)

interface Attempt {
  readonly what: string
  readonly body: Body
}
