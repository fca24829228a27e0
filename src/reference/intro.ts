/** A part of what is true of every call. Backticks in the text mark code. */
export interface Chapter {
  readonly id: string
  readonly title: string
  readonly text: readonly string[]
  readonly code?: string
}

/** What a server says of itself when it runs with its defaults. */
export const EXAMPLE_URL = 'http://127.0.0.1:4600'

/** What a reader needs to know before the collections. */
export const introduction: readonly Chapter[] = [
  {
    id: 'today',
    title: 'What works today',
    text: [
      'Everything that can be set here acts on traffic: tunnels, edges, routes, modules, backends, domains with certificates that are issued by themselves, and events that are delivered. The modules `policy` and `traffic_policy` are checked and kept, and a route that has one answers 503 with the reason. The dashboard comes with a later release.',
    ],
  },
  {
    id: 'calling',
    title: 'Calling',
    text: [
      'Every call carries the token of an API key. The first key is printed when the server starts for the first time, and kept in the file `api-key` of the data folder. The examples use two variables:',
    ],
    code: `API=${EXAMPLE_URL}\nKEY=$(cat data/api-key)\ncurl -H "Authorization: Bearer $KEY" "$API/self"`,
  },
  {
    id: 'bodies',
    title: 'Bodies and answers',
    text: [
      'Bodies are JSON objects, sent with `Content-Type: application/json` and at most 1 MiB long. A field that does not exist is refused. A field that is null counts as absent. The ids in the examples are made up; put your own.',
      'Making something answers 201, reading and changing 200, each with the resource. Removing and commands answer 204 without a body. A `Ref` is an object with the `id` and the `uri` of another resource. Moments are written in UTC, as `2030-01-31T12:00:00Z`.',
      'The version header is optional: `Service-Version: 2`. `Adit-Version` and `Ngrok-Version` mean the same. There is only version 2.',
    ],
  },
  {
    id: 'changing',
    title: 'Changing',
    text: [
      'PATCH changes the fields that are given and leaves the others. A module, or any other object inside a resource, is replaced whole when it is given. A module is removed with DELETE on its own path. When somebody else changes the same resource at the same moment, the server tries again by itself; only if that keeps failing it answers 409.',
    ],
  },
  {
    id: 'lists',
    title: 'Lists',
    text: [
      'Lists are in order of age, newest first. `limit` says how many to answer, 1 to 100 (100 when absent). `before_id` answers only what is older than that id. While there is more, `next_page_uri` is the address of the next page; on the last page it is null. `filter` answers only what an expression of CEL, the Common Expression Language, is true of: `obj` is the resource as it is answered, and there are `! && || == != < <= > >= in`, `size()`, `startsWith`, `endsWith`, `contains`, `null`, `timestamp("2026-01-31T12:00:00Z")` and `timestamp(time.now).subtract("7d")`. One call looks at 10,000 resources at most; a page can then be short or empty although another follows.',
    ],
  },
  {
    id: 'refusals',
    title: 'Refusals',
    text: [
      'A refusal says what is wrong and what to change. `error_code` is a number of the table of errors, `details.field` the field at fault where there is one, and `details.operation_id` names the call in the log of the server.',
      'No or a wrong key is 401, not being allowed 403, a path or resource that does not exist 404, too many calls 429 with `Retry-After`. Wrong values, names that are taken and resources still in use are 400. Each key may make as many calls in 60 seconds as the setting `rate_limit` says, 120 by default.',
    ],
    code: '{\n  "error_code": "ERR_ADIT_1406",\n  "status_code": 400,\n  "msg": "\\"cidr\\": \\"ten\\" is not an address range. Write it as 10.0.0.0/8 or 2001:db8::/32.",\n  "details": { "operation_id": "op_2abcDEFghiJKLmnoPQRstuVWXyz", "field": "cidr" }\n}',
  },
  {
    id: 'secrets',
    title: 'Secrets',
    text: [
      'Tokens of keys and credentials are shown once, in the answer to their creation; the server keeps only their hashes. Other secrets are sealed before they are stored. Which of them are read back is said at each field.',
    ],
  },
]
