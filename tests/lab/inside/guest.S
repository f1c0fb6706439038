# SPDX-License-Identifier: GPL-2.0-or-later
#
# A whole guest in 64 KiB, given to -bios: no firmware, no kernel, up in about
# a second where a Linux guest takes six.
#
# vCPU number n of N (numbers are dealt out as the vCPUs arrive; the boot vCPU
# is 0) first touches the n-th part of all memory, so that without a policy
# each part lies where its vCPU ran; then every vCPU writes and checks a word
# of its own in every page.  A word holds its own address plus the round, so
# a page that is lost, stale or swapped with another one shows.
#
#   GUEST-OK cpus=XX pages=XXXXXXXX
#
# on COM1 says that this worked.  Then, by MODE:
#   0 idle    sleep
#   1 spin    be busy
#   2 write   go on writing and checking, GUEST-ROUND every 16 rounds;
#             GUEST-BAD when a word was not what it should be
#   3 irq     take timer interrupts; GUEST-IRQ-OK after 64 on each vCPU,
#             GUEST-IRQ-TWICE when one came while interrupts were off
#
# Memory is 1 MiB up to the smaller of RAM and 2 GiB.
# as --32 --defsym MODE=0 guest.S -o g.o
# ld -melf_i386 -Ttext=0xf0000 --oformat=binary -e 0 g.o -o guest.bin

        .set LAPIC, 0xfee00000
        .set MEM, 0x100000              # tested memory starts here
        # The state, in low memory
        .set STATE, 0x7000
        .set COUNT, 0x7000              # vCPUs that have arrived
        .set CPUS, 0x7004               # vCPUs there are
        .set TOP, 0x7008                # end of the tested memory
        .set GO, 0x700c
        .set BAD, 0x7010                # wrong words seen
        .set BADADDR, 0x7014
        .set TWICE, 0x7018
        .set BARRIERS, 0x7040
        .set ROUNDS, 0x7100             # one counter for each vCPU
        .set INIRQ, 0x7500              # one flag for each vCPU
        .set STATE_END, 0x7900
        .set IDT, 0x9000
        .set STACKS, 0x10000            # 1 KiB for each vCPU
        .set VECTOR, 0x20

        .text
        .code16
# Both the reset vector and the start-up IPI (vector 0xf0) lead here
start:  cli
        ljmp $0xf000, $(1f - start)
1:      mov $0xf000, %ax
        mov %ax, %ds
        lgdtl gdtr - start
        mov %cr0, %eax
        or $1, %al
        mov %eax, %cr0
        ljmpl $8, $protected

        .code32
protected:
        mov $16, %ax
        mov %ax, %ds
        mov %ax, %es
        mov %ax, %ss
        cld
        mov $0x1b, %ecx                 # APIC base: is this the boot CPU?
        rdmsr
        test $0x100, %eax
        jz other

        mov $STATE, %edi
        mov $(STATE_END - STATE) / 4, %ecx
        xor %eax, %eax
        rep stosl
        mov $STACKS + 0x400, %esp
        movl $1, COUNT
        mov $5, %eax                    # FW_CFG_NB_CPUS
        call fwcfg32
        movzwl %ax, %eax
        mov %eax, CPUS
        mov $3, %eax                    # FW_CFG_RAM_SIZE
        call fwcfg32
        test %edx, %edx
        jnz 1f
        cmp $0x80000000, %eax
        jb 2f
1:      mov $0x80000000, %eax
2:      mov %eax, TOP
        call make_idt
        cmpl $1, CPUS
        je 4f
        movl $0x1ff, LAPIC + 0xf0       # APIC on
        movl $0xc4500, LAPIC + 0x300    # INIT, all but self
        call delay
        movl $0xc46f0, LAPIC + 0x300    # SIPI, all but self, 0xf0000
        call delay
        movl $0xc46f0, LAPIC + 0x300
3:      pause
        mov CPUS, %eax
        cmp %eax, COUNT
        jb 3b
4:      movl $1, GO
        xor %ebp, %ebp
        jmp work

other:  mov $1, %ebp
        lock xadd %ebp, COUNT
        lea 1(%ebp), %esp
        shl $10, %esp
        add $STACKS, %esp
1:      pause
        cmpl $0, GO
        je 1b

# From here on all vCPUs; ebp is the number of this one
work:   mov TOP, %ecx
        sub $MEM, %ecx
        shr $12, %ecx                   # pages
        mov %ecx, %eax
        mul %ebp
        divl CPUS
        mov %eax, %edi                  # first page of this vCPU's part
        lea 1(%ebp), %eax
        mul %ecx
        divl CPUS
        mov %eax, %esi                  # first page behind it
1:      cmp %esi, %edi
        jae 2f
        mov %edi, %eax
        shl $12, %eax
        movl $1, MEM(%eax)
        inc %edi
        jmp 1b
2:      mov $BARRIERS, %ebx
        call barrier
        call first_word
3:      mov %edi, (%edi)
        call next_word
        jb 3b
        mov $BARRIERS + 4, %ebx
        call barrier
        call first_word
4:      cmp %edi, (%edi)
        je 5f
        call wrong
5:      call next_word
        jb 4b
        mov $BARRIERS + 8, %ebx
        call barrier
        test %ebp, %ebp
        jnz rest
        cmpl $0, BAD
        jne bad_at_once
        mov $msg_ok, %esi
        call puts
        mov CPUS, %eax
        mov $2, %ecx
        call hex
        mov $msg_pages, %esi
        call puts
        mov TOP, %eax
        sub $MEM, %eax
        shr $12, %eax
        call hex8
        jmp rest
bad_at_once:
        call report_bad

rest:
        .if MODE == 0
1:      hlt
        jmp 1b
        .elseif MODE == 1
1:      pause
        jmp 1b
        .elseif MODE == 2
        xor %ebx, %ebx                  # round
round:  call first_word
1:      lea (%edi,%ebx), %edx
        cmp %edx, (%edi)
        je 2f
        call wrong
2:      inc %edx
        mov %edx, (%edi)
        call next_word
        jb 1b
        inc %ebx
        mov %ebx, ROUNDS(,%ebp,4)
        test %ebp, %ebp
        jnz round
        cmpl $0, BAD
        je 3f
        call report_bad
        movl $0, BAD
3:      test $15, %ebx
        jnz round
        mov $msg_round, %esi
        call puts
        mov %ebx, %eax
        call hex8
        jmp round
        .else
        lidt idtr
        movl $0x1ff, LAPIC + 0xf0
        movl $0xb, LAPIC + 0x3e0        # timer counts at full speed
        movl $0x20000 + VECTOR, LAPIC + 0x320
        movl $4000000, LAPIC + 0x380    # every 4 ms
        sti
1:      hlt
        test %ebp, %ebp
        jnz 1b
        cmpl $0, TWICE
        jne 3f
        xor %ecx, %ecx
2:      cmpl $64, ROUNDS(,%ecx,4)
        jb 1b
        inc %ecx
        cmp CPUS, %ecx
        jb 2b
        mov $msg_irq_ok, %esi
        jmp 4f
3:      mov $msg_twice, %esi
4:      cli
        call puts
5:      hlt
        jmp 5b
        .endif

# The gate keeps interrupts off in here, so nothing may come in between,
# however long it takes
irq:    cmpl $0, INIRQ(,%ebp,4)
        je 1f
        lock incl TWICE
1:      movl $1, INIRQ(,%ebp,4)
        push %ecx
        mov $300000, %ecx
2:      dec %ecx
        jnz 2b
        pop %ecx
        incl ROUNDS(,%ebp,4)
        movl $0, INIRQ(,%ebp,4)
        movl $0, LAPIC + 0xb0
        iret

make_idt:
        mov $irq, %eax
        mov %eax, %edx
        and $0xffff, %eax
        or $0x80000, %eax               # code segment 8
        mov $0x8e00, %dx                # interrupt gate
        mov %eax, IDT + 8 * VECTOR
        mov %edx, IDT + 8 * VECTOR + 4
        ret

first_word:                             # edi = this vCPU's word, first page
        lea MEM(,%ebp,4), %edi
        ret
next_word:                              # to the next page; CF while there is
        add $4096, %edi
        test $0xff000, %edi             # let others run now and then
        jnz 1f
        pause
1:      cmp TOP, %edi
        ret
wrong:  mov %edi, BADADDR
        lock incl BAD
        ret
barrier:                                # ebx = its counter
        lock incl (%ebx)
        mov CPUS, %eax
1:      pause
        cmp %eax, (%ebx)
        jb 1b
        ret
report_bad:
        mov $msg_bad, %esi
        call puts
        mov BADADDR, %eax
        jmp hex8

fwcfg32:                                # item in ax -> edx:eax
        push %ebx
        mov $0x510, %dx
        out %ax, %dx
        inc %dx
        call 1f
        mov %eax, %ebx
        call 1f
        mov %eax, %edx
        mov %ebx, %eax
        pop %ebx
        ret
1:      mov $4, %ecx
2:      in %dx, %al
        ror $8, %eax
        loop 2b
        ret
delay:  mov $50, %ecx                   # each write is an exit: about 50 us
1:      out %al, $0x80
        loop 1b
        ret
hex8:   mov $8, %ecx                    # eax in hexadecimal, and a new line
        call hex
        mov $msg_nl, %esi
        jmp puts
hex:    push %ebx                       # lowest ecx digits of eax
        mov %eax, %ebx
        mov $8, %eax
        sub %ecx, %eax
        shl $2, %eax
        xchg %eax, %ecx
        shl %cl, %ebx
        xchg %eax, %ecx
1:      rol $4, %ebx
        mov %bl, %al
        and $15, %al
        cmp $10, %al
        sbb $0x69, %al
        das
        call putc
        loop 1b
        pop %ebx
        ret
puts:   lodsb
        test %al, %al
        jz 1f
        call putc
        jmp puts
1:      ret
putc:   push %edx
        mov $0x3f8, %dx
        out %al, %dx
        pop %edx
        ret

msg_ok: .asciz "GUEST-OK cpus="
msg_pages:
        .asciz " pages="
msg_round:
        .asciz "GUEST-ROUND "
msg_bad:
        .asciz "GUEST-BAD "
msg_irq_ok:
        .asciz "GUEST-IRQ-OK\n"
msg_twice:
        .asciz "GUEST-IRQ-TWICE\n"
msg_nl: .asciz "\n"
        .balign 8
gdt:    .quad 0, 0x00cf9b000000ffff, 0x00cf93000000ffff
gdtr:   .word gdtr - gdt - 1
        .long gdt
idtr:   .word 8 * (VECTOR + 1) - 1
        .long IDT
        .org 0xfff0
        .code16
        .byte 0xe9                      # jmp start
        .word 0x10000 - 0xfff3
        .org 0xffff
        .byte 0
