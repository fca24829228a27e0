import { test } from 'node:test'
import { secretText, testLog } from './secrets.ts'

// Its tests pass, but their process must fail: see secret-search.test.ts.
test('a part that contains a secret', () => testLog().info({ name: secretText('given away') }, 'done'))
