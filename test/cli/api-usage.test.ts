import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import type { Command } from 'commander'
import { apiCommand } from '#cli/api-command.ts'
import { dashed, flagsOf } from '#cli/flags.ts'
import { operations } from '#contract/operations.ts'
import { runCommand } from '../support/command-host.ts'
import { spawnAdit } from '../support/server.ts'

const child = (command: Command | undefined, name: string): Command | undefined =>
  command?.commands.find(each => each.name() === name)

/** A server that gives every call the same answer. */
async function answering(status: number, body = '{}') {
  const server = createServer((_request, response) => response.writeHead(status).end(body)).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  return {
    environment: {
      ADIT_API_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      ADIT_API_KEY: 'key',
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

suite('adit api has a command', () => {
  const api = apiCommand()
  for (const operation of operations) {
    test(`for ${operation.id}, with a flag for each field and an example`, () => {
      const command = child(child(api, dashed(operation.collection)), dashed(operation.word))
      assert.ok(command)
      assert.equal(command.registeredArguments.length, operation.params.length)
      const help = command.helpInformation()
      for (const { flag } of flagsOf(operation)) assert.match(help, new RegExp(`^  ${flag}[ \n]`, 'm'))
      const shared = api.options.map(({ long }) => long)
      assert.deepEqual(
        command.options.filter(({ long }) => shared.includes(long)),
        [],
      )
    })
  }
})

suite('adit api helps', () => {
  const help = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(['api', ...args, '--help'])
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    return stdout
  }

  test('with the collections, their words and the flags of these', async () => {
    assert.match(await help(), /^ {2}ip-restrictions +Applies IP policies/m)
    assert.match(await help('ip-restrictions'), /^ {2}update \[options\] <id> +Change an IP restriction/m)
    const create = await help('ip-restrictions', 'create')
    assert.match(create, /--type <word> +The traffic that the policies restrict/)
    assert.match(create, /\$ adit api ip-restrictions create .*--type agent --ip-policy-ids ipp_/)
    assert.match(await help('https-edge-routes', 'replace-oauth'), /<edge-id> <id>/)
  })

  test('with what was probably meant', async () => {
    for (const [args, meant] of [
      [['ip-restriction', 'list'], 'ip-restrictions'],
      [['ip-restrictions', 'creat'], 'create'],
      [['ip-restrictions', 'create', '--enforce'], '--enforced'],
    ] as const) {
      const { code, stderr } = await runCommand(['api', ...args])
      assert.equal(code, 2)
      assert.ok(stderr.includes(`Did you mean ${meant}?`), stderr)
    }
  })
})

suite('adit api refuses', () => {
  const key = { ADIT_API_KEY: 'key', ADIT_API_URL: 'http://127.0.0.1:1' }
  const mistakes: readonly (readonly [args: string, complaint: RegExp])[] = [
    ['', /Usage/],
    ['ip-policies get', /missing required argument 'id'/],
    ['ip-restrictions create --type agent', /--ip-policy-ids must be given/],
    ['ip-restrictions create --type car --ip-policy-ids x', /--type must be one of dashboard, api/],
    ['http-response-backends create --status-code many', /--status-code must be a number/],
    ['http-response-backends create --headers x', /--headers must be name=value/],
    ['http-response-backends create --body @/no/such/file', /--body: the file cannot be read/],
    ['tcp-edges create --backend {', /--backend must be JSON/],
    ['ip-policies create --json []', /--json: the file cannot be read|--json must be/],
    ['ip-policies list --limit 0', /whole number from 1/],
    ['ip-policies list --output csv', /Allowed choices are table, json, yaml/],
    ['ip-policies list --url nonsense', /must be a URL such as/],
    ['ip-policies list --token secret', /unknown option '--token'/],
  ]
  for (const [args, complaint] of mistakes) {
    test(`"${args}" with exit code 2`, async () => {
      const { code, stdout, stderr } = await runCommand(['api', ...args.split(' ').filter(Boolean)], key)
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' })
      assert.match(stderr, complaint)
    })
  }
})

test('adit settings says that there is nothing but defaults', async () => {
  const setting = { name: 'region', value: 'us', source: 'default', origin: null, default: 'us' }
  const body = { settings: [{ ...setting, reloadable: false, doc: 'Region identifier.' }] }
  await using server = await answering(200, JSON.stringify(body))
  const { stdout } = await runCommand(['settings'], server.environment)
  assert.equal(stdout, 'Every setting has its default; adit settings --all lists them.\n')
})

suite('adit api ends', () => {
  const codes: readonly (readonly [status: number, code: number])[] = [
    [400, 1],
    [401, 4],
    [403, 4],
    [404, 3],
    [409, 5],
    [429, 75],
    [500, 69],
    [503, 69],
  ]
  for (const [status, code] of codes) {
    test(`with ${code} when the API answers ${status}`, async () => {
      const details = { operation_id: 'op_1', field: 'match' }
      const body = { error_code: 'ERR_ADIT_1', status_code: status, msg: 'It \u009bcannot be.', details }
      await using server = await answering(status, JSON.stringify(body))
      const ended = await runCommand(['api', 'self'], server.environment)
      assert.deepEqual({ code: ended.code, stdout: ended.stdout }, { code, stdout: '' })
      const [first, second] = ended.stderr.split('\n')
      assert.equal(first, 'adit: It \\u009bcannot be.')
      assert.equal(second, '  field match, code ERR_ADIT_1, operation op_1')
    })
  }

  test('with 69 when nothing listens', async () => {
    const server = await answering(200)
    await server[Symbol.asyncDispose]()
    const { code, stderr } = await runCommand(['api', 'self'], server.environment)
    assert.equal(code, 69)
    assert.match(stderr, /ECONNREFUSED.*\n.*--url or ADIT_API_URL/)
  })

  test('with 130 when interrupted', async () => {
    const called = Promise.withResolvers<void>()
    const server = createServer(() => called.resolve()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const calling = spawnAdit(['api', 'self'], {
      ADIT_API_URL: `http://127.0.0.1:${port}`,
      ADIT_API_KEY: 'key',
    })
    const closed = once(calling, 'close')
    await called.promise
    calling.kill('SIGINT')
    await closed
    assert.equal(calling.exitCode, 130)
    server.closeAllConnections()
    server.close()
  })
})
