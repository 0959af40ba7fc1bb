// SPDX-License-Identifier: ISC
// Anthropic Messages.  Side calls (titles, topic guesses) are those that offer no Bash tool.
'use strict'

function textOf(content) {
	if (typeof content === 'string') return content
	if (!Array.isArray(content)) return ''
	return content.map((part) => part.text || '').join('')
}

function toolResults(messages) {
	const results = []
	for (const message of messages || []) {
		if (!Array.isArray(message.content)) continue
		for (const block of message.content)
			if (block.type === 'tool_result') results.push(textOf(block.content))
	}
	return results
}

function toolCall({ step, number, cwd }) {
	const call = { type: 'tool_use', id: `toolu_mock${number}` }
	switch (step.tool) {
	case 'shell':
		return { ...call, name: 'Bash', input: { command: step.command, description: step.name } }
	case 'write':
		return { ...call, name: 'Write', input: { file_path: `${cwd}/${step.path}`, content: step.content } }
	case 'read':
		return { ...call, name: 'Read', input: { file_path: step.path.startsWith('/') ? step.path : `${cwd}/${step.path}` } }
	case 'mcp':
		return { ...call, name: `mcp__${step.server}__${step.method}`, input: step.input }
	default:
		throw new Error(`no tool for ${step.tool}`)
	}
}

function blockEvents(block, index) {
	const empty = block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} }
	const delta = block.type === 'text'
		? { type: 'text_delta', text: block.text }
		: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
	return [
		{ type: 'content_block_start', index, content_block: empty },
		{ type: 'content_block_delta', index, delta },
		{ type: 'content_block_stop', index },
	]
}

function messages(body, response, mock) {
	const is_side_call = !(body.tools || []).some((tool) => tool.name === 'Bash')
	const answer = mock.answer('anthropic', toolResults(body.messages), is_side_call)
	const content = [answer.step ? toolCall(answer) : { type: 'text', text: answer.text }]
	const stop_reason = answer.step ? 'tool_use' : 'end_turn'
	const message = { id: `msg_mock${Date.now()}`, type: 'message', role: 'assistant', model: body.model,
		stop_sequence: null, usage: { input_tokens: 100, output_tokens: 10 } }

	if (!body.stream) {
		mock.json(response, 200, { ...message, content, stop_reason })
		return
	}
	const events = [
		{ type: 'message_start', message: { ...message, content: [], stop_reason: null } },
		...content.flatMap(blockEvents),
		{ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 10 } },
		{ type: 'message_stop' },
	]
	mock.stream(response, events.map((data) => ({ type: data.type, data })))
}

function countTokens(body, response, mock) {
	mock.json(response, 200, { input_tokens: 100 })
}

function hello(body, response, mock) {
	mock.json(response, 200, {})
}

module.exports = { messages, countTokens, hello }
