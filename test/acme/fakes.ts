import { after, before, beforeEach } from 'node:test'
import { FakeAuthority } from './fake-authority.ts'
import { FakeDns } from './fake-dns.ts'

/** A fake authority and DNS for a suite, which gets them when they run; each test finds the authority as new. */
export function useFakes(made: (authority: FakeAuthority, dns: FakeDns) => void): void {
  let authority: FakeAuthority
  let dns: FakeDns
  before(async () => {
    authority = await FakeAuthority.start()
    dns = await FakeDns.start('127.0.0.99')
    made(authority, dns)
  })
  beforeEach(() => authority.reset())
  after(async () => {
    dns[Symbol.dispose]()
    await authority[Symbol.asyncDispose]()
  })
}
