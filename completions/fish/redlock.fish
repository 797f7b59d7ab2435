# SPDX-License-Identifier: MIT
# Completion of redlock(1) for fish: our options first, then the command and
# its own arguments as if redlock were not there. scripts/check-docs.sh reads
# the option lines: -x or -r means that the option takes a value.

# Status 0: the command has begun, its words are printed without the one that
# is being typed. 1: that one is an option or the command itself. 2: it is the
# value of an option, or nothing can follow.
function __redlock_command
    set -l words (commandline -opc)
    set -l valued --key --ttl --wait --conflict-exit-code --command \
        --kill-after --url --user --password-file --node-timeout \
        --on-unavailable --reason --result-file --max-waiters --color \
        --log-format --slots --max-hold --max-renewals --min-hold --once-per \
        --orphans --cacert --cacertdir --cert --key-file --sni --tls-verify \
        --wait-replicas --restart-guard
    set -l text 0
    set -l i 2
    while test $i -le (count $words)
        set -l w $words[$i]
        switch $w
            case '-c*' --command '--command=*'
                set text 1
        end
        switch $w
            case --
                test $text = 1; and return 2
                set i (math $i + 1)
                test $i -le (count $words); and printf '%s\n' $words[$i..-1]
                return 0
            case '--*=*'
                set i (math $i + 1)
            case '--*'
                contains -- $w $valued; and set i (math $i + 1)
                set i (math $i + 1)
            case '-?*'
                # -nk KEY and -kKEY: the first letter with a value ends it
                string match -qr -- '^-[^ktwNEcKu]*[ktwNEcKu]$' $w
                and set i (math $i + 1)
                set i (math $i + 1)
            case '*'
                test $text = 1; and return 2
                printf '%s\n' $words[$i..-1]
                return 0
        end
    end
    test $i -gt (math (count $words) + 1); and return 2
    test $text = 1; and not string match -q -- '-*' (commandline -ct); and return 2
    return 1
end

function __redlock_in_options
    __redlock_command >/dev/null
    test $status != 0
end

function __redlock_in_command
    __redlock_command >/dev/null
    set -l where $status
    test $where = 0; and return 0
    test $where = 1; and not string match -q -- '-*' (commandline -ct)
end

function __redlock_delegate
    set -l words (__redlock_command | string escape)
    complete -C (string join -- " " $words (commandline -ct))
end

complete -c redlock -f
complete -c redlock -n __redlock_in_command -x -a '(__redlock_delegate)'

complete -c redlock -n __redlock_in_options -s k -l key -x -d 'The Redis key that is the lock'
complete -c redlock -n __redlock_in_options -s t -l ttl -x -a '10s 30s 1m 5m' -d 'Lease length'
complete -c redlock -n __redlock_in_options -l allow-long-ttl -d 'Let -t exceed 24h'
complete -c redlock -n __redlock_in_options -s w -l wait -x -d 'Give up after a time'
complete -c redlock -n __redlock_in_options -s n -l no-wait -d 'Give up at once if it is held'
complete -c redlock -n __redlock_in_options -s s -l shared -d 'As one of the readers'
complete -c redlock -n __redlock_in_options -s x -l exclusive -d 'Alone'
complete -c redlock -n __redlock_in_options -s N -l slots -x -d 'As one of N at a time'
complete -c redlock -n __redlock_in_options -l max-waiters -x -d 'Give up if so many wait already'
complete -c redlock -n __redlock_in_options -l supersede -d 'Older waiters with this option give up'
complete -c redlock -n __redlock_in_options -s E -l conflict-exit-code -x -d 'Status when not acquired'
complete -c redlock -n __redlock_in_options -s c -l command -x -d 'Run a text with $SHELL -c'
complete -c redlock -n __redlock_in_options -l max-hold -x -d 'End the command after a time'
complete -c redlock -n __redlock_in_options -l max-renewals -x -d 'Likewise, when renewed so often'
complete -c redlock -n __redlock_in_options -l min-hold -x -d 'Keep the lock for a time at least'
complete -c redlock -n __redlock_in_options -l once-per -x -d 'Not within a time of a success'
complete -c redlock -n __redlock_in_options -s K -l kill-after -x -d 'Time between TERM and KILL'
complete -c redlock -n __redlock_in_options -l orphans -x -a 'leave wait kill' -d 'What the command leaves running'
complete -c redlock -n __redlock_in_options -s u -l url -x -a 'redis:// rediss:// valkey:// valkeys:// unix:/// local: redis-sentinel:// rediss-sentinel:// redis-cluster:// rediss-cluster://' -d 'A server'
complete -c redlock -n __redlock_in_options -l user -x -d 'ACL user'
complete -c redlock -n __redlock_in_options -l password-file -r -F -d 'Read the password from a file'
complete -c redlock -n __redlock_in_options -l askpass -d 'Ask for the password on the terminal'
complete -c redlock -n __redlock_in_options -l cacert -r -F -d 'TLS: whom to trust'
complete -c redlock -n __redlock_in_options -l cacertdir -x -a '(__fish_complete_directories)' -d 'TLS: whom to trust'
complete -c redlock -n __redlock_in_options -l cert -r -F -d 'TLS: our certificate'
complete -c redlock -n __redlock_in_options -l key-file -r -F -d 'TLS: its private key'
complete -c redlock -n __redlock_in_options -l sni -x -d 'TLS: the name to ask for and verify'
complete -c redlock -n __redlock_in_options -l tls-verify -x -a 'full ca none' -d 'TLS: what to verify'
complete -c redlock -n __redlock_in_options -l node-timeout -x -d 'Time to connect and answer while acquiring'
complete -c redlock -n __redlock_in_options -l restart-guard -x -a 'auto off' -d 'How long a server must be up to have a say'
complete -c redlock -n __redlock_in_options -l shared-scope -d 'Refuse a server of this machine alone'
complete -c redlock -n __redlock_in_options -l wait-replicas -x -d 'Have so many replicas know of the lock first'
complete -c redlock -n __redlock_in_options -l on-unavailable -x -a 'fail run' -d 'When no server answers at start'
complete -c redlock -n __redlock_in_options -l reason -x -d 'Shown to others while the lock is held'
complete -c redlock -n __redlock_in_options -l no-describe -d 'Do not tell others who holds the lock'
complete -c redlock -n __redlock_in_options -l no-history -d 'Keep no entry in the history of the lock'
complete -c redlock -n __redlock_in_options -l result-file -r -F -d 'Write the outcome to a file as one JSON line'
complete -c redlock -n __redlock_in_options -l color -x -a 'auto always never' -d 'Color of messages'
complete -c redlock -n __redlock_in_options -l log-format -x -a 'text json' -d 'Form of messages'
complete -c redlock -n __redlock_in_options -s q -l quiet -d 'Errors only'
complete -c redlock -n __redlock_in_options -s v -l verbose -d 'Say more'
complete -c redlock -n __redlock_in_options -s h -l help -d 'Show help'
complete -c redlock -n __redlock_in_options -s V -l version -d 'Show versions and platform guards'
