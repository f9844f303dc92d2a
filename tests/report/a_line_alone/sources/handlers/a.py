class A:
    @a.implements
