import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { inspect } from 'node:util'
import { readSettings } from '#base/read-settings.ts'
import { SettingError } from '#base/setting-values.ts'
import { type Settings } from '#base/settings.ts'

const read = (environment: Record<string, string>, flags: Record<string, string> = {}): Settings =>
  readSettings(new Map(Object.entries(flags)), environment)
const endpointOf = (environment: Record<string, string>, flags?: Record<string, string>) =>
  read(environment, flags).traces_endpoint

suite('the settings of traces', () => {
  test('make none unless they are enabled', () => {
    assert.equal(endpointOf({}), undefined)
    assert.equal(endpointOf({ ADIT_TRACES_ENDPOINT: 'off' }), undefined)
  })

  test('add the path of the signal to the address of the collector', () => {
    for (const address of ['http://c:4318', 'http://c:4318/', 'http://c:4318/v1/traces'])
      assert.equal(endpointOf({ ADIT_TRACES_ENDPOINT: address }), 'http://c:4318/v1/traces')
    assert.equal(endpointOf({ ADIT_TRACES_ENDPOINT: 'https://c/otlp' }), 'https://c/otlp/v1/traces')
  })

  test('follow the variables of OpenTelemetry, the one for traces first and as it is', () => {
    const both = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://all:4318',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces/in',
    }
    assert.equal(endpointOf(both), 'http://traces/in')
    assert.equal(endpointOf({ ...both, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '' }), 'http://all:4318/v1/traces')
    const { traces_sample: share, traces_service: service } = read({
      OTEL_TRACES_SAMPLER_ARG: '0.5',
      OTEL_SERVICE_NAME: 'door',
    })
    assert.deepEqual({ share, service }, { share: 0.5, service: 'door' })
  })

  test('let all our own ways go before those variables', () => {
    const standard = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://other', OTEL_TRACES_SAMPLER_ARG: '1' }
    assert.equal(endpointOf(standard, { traces_endpoint: 'http://flag' }), 'http://flag/v1/traces')
    assert.equal(endpointOf({ ...standard, ADIT_TRACES_ENDPOINT: 'off' }), undefined)
    assert.equal(read({ ...standard, ADIT_TRACES_SAMPLE: '0' }).traces_sample, 0)
    assert.equal(read({}).traces_sample, 0.01)
    assert.equal(read({}).traces_service, 'adit')
  })

  test('read headers as OpenTelemetry does, and keep their values to themselves', () => {
    const { traces_headers: headers } = read({
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20hush=, x-team = a',
    })
    assert.deepEqual(
      [...(headers ?? [])].map(([name, value]) => [name, value.reveal()]),
      [
        ['authorization', 'Bearer hush='],
        ['x-team', 'a'],
      ],
    )
    assert.doesNotMatch(inspect(headers) + JSON.stringify([...(headers ?? [])]), /hush/)
  })

  const refused = {
    traces_endpoint: ['nowhere', 'ftp://c', 'http://u:hush@c', 'http://c/?key=hush', ''],
    traces_headers: ['hush', '=hush', 'a b=hush', 'a=%hush', 'host=hush', 'a=hush%0a'],
    traces_sample: ['2', '-1', '1.5', 'all', ''],
    traces_service: [''],
  }
  for (const [name, texts] of Object.entries(refused))
    test(`refuse what cannot be used as ${name}, without repeating it`, () => {
      for (const text of texts)
        assert.throws(
          () => read({}, { [name]: text }),
          (error: unknown) =>
            error instanceof SettingError &&
            error.message.startsWith(`--${name.replace('_', '-')} must be`) &&
            !error.message.includes('hush'),
          text,
        )
    })

  test('name the variable that cannot be used', () => {
    assert.throws(() => read({ OTEL_TRACES_SAMPLER_ARG: 'x' }), {
      name: 'SettingError',
      message: /^OTEL_TRACES_SAMPLER_ARG must be a number between 0 and 1/,
    })
  })
})
