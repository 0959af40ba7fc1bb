#!/usr/bin/env node
// SPDX-License-Identifier: ISC
// A stdio MCP server with one tool: it gives the file that is named on its command line.  Unlike the
// official file system server it does not ask the client which directories are allowed.
'use strict'

const fs = require('fs')
const readline = require('readline')

const file = process.argv[2]
const tools = [{ name: 'read', description: 'Gives the file.', inputSchema: { type: 'object', properties: {} } }]

function read() {
	try {
		return { content: [{ type: 'text', text: fs.readFileSync(file, 'utf8') }] }
	} catch (error) {
		return { content: [{ type: 'text', text: `no file: ${error.code}` }], isError: true }
	}
}

function answer(request) {
	switch (request.method) {
	case 'initialize':
		return { protocolVersion: request.params.protocolVersion, capabilities: { tools: {} },
			serverInfo: { name: 'reader', version: '1' } }
	case 'tools/list':
		return { tools }
	case 'tools/call':
		return read()
	default:
		return {}
	}
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
	const request = JSON.parse(line)
	if (request.id === undefined) return
	process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: request.id, result: answer(request) }) + '\n')
})
